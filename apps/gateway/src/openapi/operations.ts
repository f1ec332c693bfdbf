import type { ErrorCode } from '#inference/errors.js';
import { RECEIPT_TYPE } from '../http/endpoints/receipts.controller.js';
import { renderRevoked } from '../http/endpoints/render-child-key.js';
import { INCLUDE_HEADER } from '../http/replies/reply-cost.js';
import type { RouteName } from '../http/routes.js';
import { ADAPTERS } from '../protocols/adapters.js';
import { REQUEST_EXAMPLES as CHAT_EXAMPLES } from '../protocols/chat/examples.js';
import { REQUEST_EXAMPLES as EMBEDDING_EXAMPLES, REPLY_EXAMPLES } from '../protocols/embeddings/examples.js';
import { type JsonSchema, type RequestExample, ref } from '../protocols/json-schema/json-schema.js';
import { COUNT_EXAMPLES, REQUEST_EXAMPLES as MESSAGES_EXAMPLES } from '../protocols/messages/examples.js';
import { REQUEST_EXAMPLES as RESPONSES_EXAMPLES } from '../protocols/responses/examples.js';
import { CHILD_ID, CHILD_KEY_EXAMPLES, MAY_NOT_DELEGATE, MINTED_EXAMPLE, NO_SUCH_CHILD } from './child-key-operations.js';
import { GENERATION_ERRORS } from './error-responses.js';
import { ESTIMATE_EXAMPLE, MAX_COST, QUOTE, WITH_QUOTE } from './estimate-operations.js';
import { ANTHROPIC_RATE_LIMIT_HEADERS, GENERATION_HEADERS, REPLY_HEADERS } from './headers.js';
import { LISTED_MODEL, MODEL_EXAMPLE } from './model-example.js';
import { KEY_EXAMPLE, REQUEST_EXAMPLE, REQUEST_ID, USAGE_EXAMPLE, USAGE_PARAMETERS } from './own-key-operations.js';
import { RECEIPT_EXAMPLE, RECEIPT_KEYS_EXAMPLE } from './receipt-operations.js';
import { plainReplyExamples, streamedReplyExamples } from './reply-examples.js';
import { SESSION, SESSION_BUDGET } from './session-parameters.js';

export type TagName = 'Generation' | 'Account' | 'Service';

interface Content {
  schema: JsonSchema;
  examples?: Record<string, { summary?: string; value: unknown }>;
}

/** Description of a route, except what follows from the route itself. */
export interface OperationDescription {
  tag: TagName;
  operationId: string;
  summary: string;
  description?: string;
  parameters?: readonly object[];
  request?: { schema: JsonSchema; examples: Record<string, RequestExample> };
  reply: Content;
  /** Type of the reply. Default: JSON. */
  mediaType?: string;
  /** Data of one stream event, for operations that can stream. */
  stream?: Content;
  /** True for probes: their replies have no request id, because they are not logged. */
  isProbe?: true;
  /** Reply headers in addition to those of every reply. */
  replyHeaders?: Record<string, object>;
  /** Further replies that are not errors. */
  otherReplies?: Record<string, object>;
  errors: readonly ErrorCode[];
}

const KEY_ERRORS: ErrorCode[] = ['invalid_api_key', 'rate_limit_exceeded', 'internal_error', 'model_unavailable'];
const BODY_ERRORS: ErrorCode[] = [
  'invalid_json',
  'invalid_request',
  'unsupported_parameter',
  'unsupported_content',
  'image_url_not_supported',
  'model_not_found',
  'request_too_large',
];
const BILLED = 'The highest possible cost is held before the request starts; the actual usage is charged when it ends.';

const VERSION_HEADER = {
  name: 'anthropic-version',
  in: 'header',
  description: "A date, as the format's clients send it. Any is accepted, and none.",
  schema: { type: 'string' },
};

const INCLUDE = {
  name: INCLUDE_HEADER,
  in: 'header',
  description: 'Puts the `cost` into the usage of the reply, or of the last event that has a usage.',
  schema: { type: 'string', const: 'cost' },
};

const MODELS = 'With `anthropic-version` the reply has more fields, and errors have the body of Messages.';
const MODELS_VERSION_HEADER = { ...VERSION_HEADER, description: 'Sent by the clients of Anthropic.' };

const ESTIMATE = {
  tag: 'Generation',
  summary: 'The most that a request can cost, and what would refuse it',
  description: 'Free. Takes the body of the request itself. No model runs, and nothing is held.',
  parameters: [WITH_QUOTE, MAX_COST],
  reply: { schema: ref('Estimate'), examples: { estimate: { value: ESTIMATE_EXAMPLE } } },
  errors: [...BODY_ERRORS, 'context_length_exceeded', 'insufficient_balance', ...KEY_ERRORS],
} satisfies Partial<OperationDescription>;

const NOT_READY = {
  description: 'The gateway has not read the catalog yet, or is shutting down.',
  headers: { 'retry-after': { $ref: '#/components/headers/RetryAfter' } },
  content: { 'application/json': { schema: ref('Error') } },
};

const NO_SUCH_REQUEST = {
  description: 'The request is unknown, held no money, or belongs to another key.',
  headers: REPLY_HEADERS,
  content: { 'application/json': { schema: ref('Error') } },
};

const ENTITY_TAG = { etag: { $ref: '#/components/headers/EntityTag' } };

const health: Content = { schema: ref('Health'), examples: { ok: { value: { status: 'ok' } } } };

/** The operation of each route. The compiler checks that each route has one, a test that each is routed. */
export const OPERATIONS: Record<RouteName, OperationDescription> = {
  chatCompletions: {
    tag: 'Generation',
    operationId: 'createChatCompletion',
    summary: 'A model reply in the Chat Completions format',
    description: BILLED,
    parameters: [INCLUDE, MAX_COST, QUOTE, SESSION, SESSION_BUDGET],
    request: { schema: ref('ChatRequest'), examples: CHAT_EXAMPLES },
    reply: { schema: ref('ChatCompletion'), examples: plainReplyExamples(ADAPTERS.chat, CHAT_EXAMPLES) },
    stream: { schema: ref('ChatStreamEvent'), examples: streamedReplyExamples(ADAPTERS.chat, CHAT_EXAMPLES) },
    replyHeaders: GENERATION_HEADERS,
    errors: GENERATION_ERRORS,
  },
  responses: {
    tag: 'Generation',
    operationId: 'createResponse',
    summary: 'A model reply in the Responses format',
    description: `${BILLED} Nothing is stored: every request contains the whole conversation.`,
    parameters: [INCLUDE, MAX_COST, QUOTE, SESSION, SESSION_BUDGET],
    request: { schema: ref('ResponsesRequest'), examples: RESPONSES_EXAMPLES },
    reply: { schema: ref('Response'), examples: plainReplyExamples(ADAPTERS.responses, RESPONSES_EXAMPLES) },
    stream: { schema: ref('ResponseStreamEvent'), examples: streamedReplyExamples(ADAPTERS.responses, RESPONSES_EXAMPLES) },
    replyHeaders: GENERATION_HEADERS,
    errors: GENERATION_ERRORS,
  },
  messages: {
    tag: 'Generation',
    operationId: 'createMessage',
    summary: 'A model reply in the Messages format',
    description: BILLED,
    parameters: [VERSION_HEADER, INCLUDE, MAX_COST, QUOTE, SESSION, SESSION_BUDGET],
    request: { schema: ref('MessagesRequest'), examples: MESSAGES_EXAMPLES },
    reply: { schema: ref('Message'), examples: plainReplyExamples(ADAPTERS.messages, MESSAGES_EXAMPLES) },
    stream: { schema: ref('MessageStreamEvent'), examples: streamedReplyExamples(ADAPTERS.messages, MESSAGES_EXAMPLES) },
    replyHeaders: { ...GENERATION_HEADERS, ...ANTHROPIC_RATE_LIMIT_HEADERS },
    errors: GENERATION_ERRORS,
  },
  embeddings: {
    tag: 'Generation',
    operationId: 'createEmbeddings',
    summary: 'Vectors of texts, for models for embeddings',
    description: `${BILLED} Billed by the tokens of the inputs.`,
    parameters: [INCLUDE, MAX_COST, SESSION, SESSION_BUDGET],
    request: { schema: ref('EmbeddingsRequest'), examples: EMBEDDING_EXAMPLES },
    reply: { schema: ref('EmbeddingList'), examples: REPLY_EXAMPLES },
    replyHeaders: GENERATION_HEADERS,
    errors: GENERATION_ERRORS,
  },
  countTokens: {
    tag: 'Generation',
    operationId: 'countMessageTokens',
    summary: 'The size of a prompt in tokens, estimated',
    description: 'Free. No model runs.',
    parameters: [VERSION_HEADER],
    request: { schema: ref('CountTokensRequest'), examples: COUNT_EXAMPLES },
    reply: { schema: ref('TokenCount'), examples: { count: { value: { input_tokens: 12 } } } },
    errors: [...BODY_ERRORS, ...KEY_ERRORS],
  },
  estimateChat: {
    ...ESTIMATE,
    operationId: 'estimateChatCompletion',
    request: { schema: ref('ChatRequest'), examples: CHAT_EXAMPLES },
  },
  estimateResponse: {
    ...ESTIMATE,
    operationId: 'estimateResponse',
    request: { schema: ref('ResponsesRequest'), examples: RESPONSES_EXAMPLES },
  },
  estimateMessage: {
    ...ESTIMATE,
    operationId: 'estimateMessage',
    parameters: [VERSION_HEADER, WITH_QUOTE, MAX_COST],
    request: { schema: ref('MessagesRequest'), examples: MESSAGES_EXAMPLES },
  },
  models: {
    tag: 'Account',
    operationId: 'listModels',
    summary: 'The models a key can call',
    description: MODELS,
    parameters: [MODELS_VERSION_HEADER],
    reply: { schema: ref('ModelList'), examples: { models: { value: { object: 'list', data: [LISTED_MODEL] } } } },
    errors: KEY_ERRORS,
  },
  model: {
    tag: 'Account',
    operationId: 'getModel',
    summary: 'One model: its limits and prices',
    description: MODELS,
    parameters: [
      MODELS_VERSION_HEADER,
      {
        name: 'id',
        in: 'path',
        required: true,
        description: 'Model id, case-sensitive.',
        schema: { type: 'string' },
        example: MODEL_EXAMPLE.id,
      },
    ],
    reply: { schema: ref('Model'), examples: { model: { value: MODEL_EXAMPLE } } },
    errors: [...KEY_ERRORS, 'model_not_found'],
  },
  balance: {
    tag: 'Account',
    operationId: 'getBalance',
    summary: 'Balance, reserved and available amounts of the account',
    description: 'Exact: includes every finished reply.',
    reply: {
      schema: ref('Balance'),
      examples: {
        balance: {
          value: {
            object: 'balance',
            currency: 'USD',
            balance_pico_usd: '24999987650000',
            balance_usd: '24.99998765',
            reserved_pico_usd: '4800000000',
            available_pico_usd: '24995187650000',
            topup_balance_pico_usd: '24999987650000',
            plan_balance_pico_usd: '0',
            plan_expires_at: null,
          },
        },
      },
    },
    errors: KEY_ERRORS,
  },
  key: {
    tag: 'Account',
    operationId: 'getKey',
    summary: 'The key of the request: its limits, budgets and end',
    reply: { schema: ref('Key'), examples: { key: { value: KEY_EXAMPLE } } },
    errors: KEY_ERRORS,
  },
  childKeys: {
    tag: 'Account',
    operationId: 'createChildKey',
    summary: 'A child key with a part of what the key may do',
    description:
      'Free. The key may have child keys when a budget counts each of them; a child key may make others, three deep. What it costs is the cost of each above it too. Nothing is stored.',
    request: { schema: ref('ChildKeyRequest'), examples: CHILD_KEY_EXAMPLES },
    reply: { schema: ref('ChildKey'), examples: { child: { value: MINTED_EXAMPLE } } },
    otherReplies: { '403': MAY_NOT_DELEGATE },
    errors: ['invalid_json', 'invalid_request', 'request_too_large', ...KEY_ERRORS],
  },
  childKeyRevoke: {
    tag: 'Account',
    operationId: 'revokeChildKey',
    summary: 'Ends a child key and all below it',
    description: 'Free. A child key may end itself and those below it.',
    parameters: [CHILD_ID],
    reply: { schema: ref('RevokedChildKey'), examples: { revoked: { value: renderRevoked(CHILD_ID.example) } } },
    otherReplies: { '404': NO_SUCH_CHILD },
    errors: KEY_ERRORS,
  },
  usage: {
    tag: 'Account',
    operationId: 'getUsage',
    summary: 'Requests, tokens and costs of the key',
    description: 'Exact: a request counts at the time of its settlement. Rows come in the order of time and group.',
    parameters: USAGE_PARAMETERS,
    reply: { schema: ref('Usage'), examples: { usage: { value: USAGE_EXAMPLE } } },
    errors: [...KEY_ERRORS, 'invalid_request', 'concurrency_limit'],
  },
  request: {
    tag: 'Account',
    operationId: 'getRequest',
    summary: 'What a request of the key held, used and cost',
    parameters: [REQUEST_ID],
    reply: { schema: ref('Request'), examples: { request: { value: REQUEST_EXAMPLE } } },
    otherReplies: { '404': NO_SUCH_REQUEST },
    errors: [...KEY_ERRORS, 'concurrency_limit'],
  },
  receipt: {
    tag: 'Account',
    operationId: 'getReceipt',
    summary: 'Receipt of a request of the key, once its month is closed',
    description: 'A file of lines, which anybody can check offline with the published keys: docs/receipts.md.',
    parameters: [REQUEST_ID],
    reply: { schema: { type: 'string' }, examples: { receipt: { value: RECEIPT_EXAMPLE } } },
    mediaType: RECEIPT_TYPE,
    otherReplies: { '404': { ...NO_SUCH_REQUEST, description: `${NO_SUCH_REQUEST.description} Or its month is not closed.` } },
    errors: [...KEY_ERRORS, 'concurrency_limit'],
  },
  receiptKeys: {
    tag: 'Service',
    operationId: 'getReceiptKeys',
    summary: 'Public keys of receipts, and the signed line of each closed month',
    description: 'Keep a copy: it shows when a month is closed again with another content.',
    reply: { schema: ref('ReceiptKeys'), examples: { keys: { value: RECEIPT_KEYS_EXAMPLE } } },
    errors: ['rate_limit_exceeded', 'internal_error', 'model_unavailable'],
  },
  openapi: {
    tag: 'Service',
    operationId: 'getOpenApi',
    summary: 'This document',
    parameters: [{ name: 'if-none-match', in: 'header', description: 'The `etag` of a copy.', schema: { type: 'string' } }],
    reply: { schema: ref('OpenApi') },
    replyHeaders: ENTITY_TAG,
    otherReplies: { '304': { description: 'The copy is up to date.', headers: { ...REPLY_HEADERS, ...ENTITY_TAG } } },
    errors: ['rate_limit_exceeded'],
  },
  root: { tag: 'Service', operationId: 'probe', summary: 'Check that the gateway answers', reply: health, isProbe: true, errors: [] },
  livez: {
    tag: 'Service',
    operationId: 'getLiveness',
    summary: 'Check that the gateway is live',
    reply: health,
    isProbe: true,
    errors: [],
  },
  readyz: {
    tag: 'Service',
    operationId: 'getReadiness',
    summary: 'Check that the gateway accepts requests',
    reply: health,
    isProbe: true,
    otherReplies: { '503': NOT_READY },
    errors: [],
  },
};
