import type { SimDialect } from './dialects/sim-dialect.js';

export interface ErrorObject {
  message: string;
  type: string;
  param: string | null;
  code: string | null;
}

/** A refusal as real servers word them: an HTTP status with the usual error object. */
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

const OBJECTS: Record<number, Pick<ErrorObject, 'message' | 'type' | 'code'>> = {
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

/**
 * What a server says with this status: JSON for statuses applications give, a reverse proxy's HTML page for 502 and 504.
 * `message` replaces the usual words.
 */
export function errorReply(dialect: SimDialect, status: number, message?: string): { type: string; body: string } {
  if (status === 502 || status === 504) {
    const title = status === 502 ? '502 Bad Gateway' : '504 Gateway Time-out';
    return { type: 'text/html', body: `<html>\r\n<head><title>${title}</title></head>\r\n<body>${message ?? title}</body>\r\n</html>\r\n` };
  }
  const usual = OBJECTS[status] ?? {
    message: `Status ${status}.`,
    type: status < 500 ? 'invalid_request_error' : 'server_error',
    code: null,
  };
  const error = { ...usual, message: message ?? usual.message, param: null };
  return { type: 'application/json', body: JSON.stringify(dialect.renderError(error, status)) };
}

/** The error object a broken stream ends with. */
export const STREAM_ERROR: ErrorObject = { message: 'The engine failed while generating.', type: 'server_error', param: null, code: null };
