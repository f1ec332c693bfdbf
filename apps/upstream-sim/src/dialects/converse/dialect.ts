import { encodeEvent } from '#network/event-stream-frame.js';
import { markedPrefixes, parseMessagesRequest } from '../messages/parse-request.js';
import type { SimDialect } from '../sim-dialect.js';
import { renderConverse, renderConverseEvents } from './render-converse.js';
import { toMessagesBody } from './to-messages.js';

/** `Converse` and `ConverseStream` of Amazon Bedrock. Its streams are frames and close after the metadata. */
export const converseDialect: SimDialect = {
  path: /^(?:\/v1)?\/model\/(?<model>[^/]+)\/(?<method>converse|converse-stream)$/,
  parseRequest: (body, { model = '', method }) => {
    const messages = toMessagesBody(body, decodeURIComponent(model));
    return {
      chat: { ...parseMessagesRequest(messages), stream: method === 'converse-stream' },
      cacheable: ({ cache_control: markers = [] }) => ({ prefixes: markedPrefixes(messages, markers), billsWrites: true }),
      renderReply: renderConverse,
      renderEvents: renderConverseEvents,
    };
  },
  renderError: ({ message }, status) => ({ message, __type: ERROR_TYPES[status] ?? 'InternalServerException' }),
  renderStreamError: ({ message }) => ({ name: 'modelStreamErrorException', json: JSON.stringify({ message }), tokens: 0 }),
  frame: ({ name = '', json }) => encodeEvent(name, json),
  marker: { json: '{}', tokens: 0 },
  markerAfter: [],
};

const ERROR_TYPES: Record<number, string> = {
  400: 'ValidationException',
  401: 'UnrecognizedClientException',
  403: 'AccessDeniedException',
  404: 'ResourceNotFoundException',
  408: 'ModelTimeoutException',
  424: 'ModelErrorException',
  429: 'ThrottlingException',
  503: 'ServiceUnavailableException',
};
