import type { ProtocolAdapter } from '../protocol-adapter.js';
import { renderError } from './errors.js';
import { parseRequest, type ResponsesRequest } from './request.js';
import { renderCompletion } from './response.js';
import { renderStream } from './stream.js';

/** Adapter of the Responses format: `POST /v1/responses`. */
export const responsesAdapter: ProtocolAdapter<ResponsesRequest> = {
  name: 'responses',
  parseRequest,
  renderCompletion,
  renderStream,
  renderError,
};
