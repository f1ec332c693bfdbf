export interface ErrorObject {
  message: string;
  type: string;
  param: string | null;
  code: string | null;
}

const STATUS_ERRORS: Record<number, Pick<ErrorObject, 'message' | 'type' | 'code'>> = {
  400: { message: 'The request could not be understood.', type: 'invalid_request_error', code: null },
  401: { message: 'Incorrect API key provided.', type: 'invalid_request_error', code: 'invalid_api_key' },
  402: { message: 'Insufficient Balance', type: 'unknown_error', code: 'invalid_request_error' },
  403: { message: 'You are not allowed to use this model.', type: 'invalid_request_error', code: null },
  404: { message: 'The model does not exist.', type: 'invalid_request_error', code: 'model_not_found' },
  413: { message: 'Request too large.', type: 'invalid_request_error', code: null },
  429: { message: 'Rate limit reached for requests.', type: 'requests', code: 'rate_limit_exceeded' },
  500: { message: 'The server had an error while processing your request.', type: 'server_error', code: null },
  503: { message: 'The engine is currently overloaded, please try again later.', type: 'server_error', code: null },
};

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

  /** The usual error of a status. */
  static ofStatus(status: number): SimError {
    const type = status < 500 ? 'invalid_request_error' : 'server_error';
    return new SimError(status, { ...(STATUS_ERRORS[status] ?? { message: `Status ${status}.`, type, code: null }), param: null });
  }

  /** The refusal of a server that cannot parse the call which its model has written. */
  static toolUseFailed(): SimError {
    const message = "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.";
    return SimError.invalid(message, null, 'tool_use_failed');
  }

  static contextLength(contextTokens: number, promptTokens: number, outputTokens: number): SimError {
    const message =
      `This model's maximum context length is ${contextTokens} tokens. However, you requested ${promptTokens + outputTokens} tokens ` +
      `(${promptTokens} in the messages, ${outputTokens} in the completion). Please reduce the length of the messages or completion.`;
    return SimError.invalid(message, 'messages', 'context_length_exceeded');
  }
}
