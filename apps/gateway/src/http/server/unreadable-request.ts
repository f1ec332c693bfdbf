import { STATUS_CODES } from 'node:http';
import { GatewayError } from '#inference/errors.js';
import { renderGeneralError } from '../../protocols/general-error.js';

const STATUSES: Record<string, number> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** What is wrong with bytes that could not be read as HTTP, or did not come in time. `code` is that of Node's `clientError`. */
export function unreadable(code: string | undefined): GatewayError {
  const status = STATUSES[code ?? ''] ?? 400;
  const message = `The request could not be read: ${STATUS_CODES[status]}.`;
  return new GatewayError(status === 413 ? 'request_too_large' : 'invalid_request', message, { status });
}

/** The whole answer to what never became a request: its path is not known, so the body is the general one. */
export function renderRefusal(error: GatewayError, requestId: string): string {
  const body = renderGeneralError(error);
  return (
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\nconnection: close\r\ncontent-type: application/json\r\n` +
    `content-length: ${Buffer.byteLength(body)}\r\nx-request-id: ${requestId}\r\nrequest-id: ${requestId}\r\n\r\n${body}`
  );
}
