import { STATUS_CODES } from 'node:http';
import { GatewayError } from '#inference/errors.js';
import { renderGeneralError } from '../../protocols/general-error.js';
import { NO_SNIFF, NO_STORE } from '../replies/write-reply.js';

const STATUSES: Record<string, number> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** Returns the error of a request that is not valid HTTP or arrives too slowly. `code` is the code of Node's `clientError`. */
export function unreadable(code: string | undefined): GatewayError {
  const status = STATUSES[code ?? ''] ?? 400;
  const message = `The request could not be read: ${STATUS_CODES[status]}.`;
  return new GatewayError(status === 413 ? 'request_too_large' : 'invalid_request', message, { status });
}

/** Renders the complete HTTP reply to an unreadable request. Its path is unknown, so the error has chat's format. */
export function renderRefusal(error: GatewayError, requestId: string): string {
  const body = renderGeneralError(error);
  return (
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\nconnection: close\r\ncontent-type: application/json\r\n` +
    `${NO_SNIFF.join(': ')}\r\n${NO_STORE.join(': ')}\r\n` +
    `content-length: ${Buffer.byteLength(body)}\r\nx-request-id: ${requestId}\r\nrequest-id: ${requestId}\r\n\r\n${body}`
  );
}
