export interface ErrorObject {
  message: string;
  type: string;
  param: string | null;
  code: string | null;
}

/** A refusal with an HTTP status and the error object that real servers send with it. */
export class SimError extends Error {
  override readonly name = 'SimError';

  constructor(
    readonly status: number,
    readonly body: ErrorObject,
  ) {
    super(body.message);
  }

  static invalid(message: string, param: string | null = null, code: string | null = null): SimError {
    return new SimError(400, { message, type: 'invalid_request_error', param, code });
  }

  static unknownModel(model: string): SimError {
    const message = `The model \`${model}\` does not exist or you do not have access to it.`;
    return new SimError(404, { message, type: 'invalid_request_error', param: null, code: 'model_not_found' });
  }

  static fault(error: unknown): SimError {
    return new SimError(500, { message: String(error), type: 'server_error', param: null, code: null });
  }

  static wrongKey(): SimError {
    const message = 'Incorrect API key provided.';
    return new SimError(401, { message, type: 'invalid_request_error', param: null, code: 'invalid_api_key' });
  }

  static contextLength(contextTokens: number, promptTokens: number, outputTokens: number): SimError {
    const message =
      `This model's maximum context length is ${contextTokens} tokens. However, you requested ${promptTokens + outputTokens} tokens ` +
      `(${promptTokens} in the messages, ${outputTokens} in the completion). Please reduce the length of the messages or completion.`;
    return SimError.invalid(message, 'messages', 'context_length_exceeded');
  }
}
