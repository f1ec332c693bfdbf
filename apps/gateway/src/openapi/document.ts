import { VERSION } from '#config/version.js';
import { ROUTES, type Route, type RouteName } from '../http/routes.js';
import { REPLY_SCHEMAS as CHAT_REPLIES } from '../protocols/chat/reply-schema.js';
import { REQUEST_SCHEMAS as CHAT_REQUESTS } from '../protocols/chat/request-schema.js';
import { REPLY_SCHEMAS as EMBEDDING_REPLIES } from '../protocols/embeddings/reply-schema.js';
import { REQUEST_SCHEMAS as EMBEDDING_REQUESTS } from '../protocols/embeddings/request-schema.js';
import { REPLY_SCHEMAS as MESSAGES_REPLIES } from '../protocols/messages/reply-schema.js';
import { REQUEST_SCHEMAS as MESSAGES_REQUESTS } from '../protocols/messages/request-schema.js';
import { REPLY_SCHEMAS as RESPONSES_REPLIES } from '../protocols/responses/reply-schema.js';
import { REQUEST_SCHEMAS as RESPONSES_REQUESTS } from '../protocols/responses/request-schema.js';
import { ACCOUNT_SCHEMAS } from './account-schemas.js';
import { CHILD_KEY_SCHEMAS } from './child-key-operations.js';
import { ERROR_RESPONSES, ERROR_SCHEMAS, errorResponses } from './error-responses.js';
import { ESTIMATE_SCHEMAS } from './estimate-operations.js';
import { HEADERS, REPLY_HEADERS } from './headers.js';
import { OPERATIONS, type OperationDescription, type TagName } from './operations.js';
import { OWN_KEY_SCHEMAS } from './own-key-schemas.js';
import { RECEIPT_SCHEMAS } from './receipt-operations.js';

const DESCRIPTION = `A gateway to language models that speaks three client formats and bills exactly.

Requests are JSON in UTF-8 of at most 8 MiB and 128 levels. \`null\` is the same as leaving a field out, wherever a field is optional.
Every \`GET\` path also answers \`HEAD\`; query strings are ignored, except by \`/v1/usage\` and the estimates.

Errors have the format of their path, on all other paths the general one. This includes 404 for an unknown path, 405 with \`allow\` for
another method, 426 for a WebSocket, and 400, 408 and 431 for a request that is not valid HTTP, too slow or too long. Retry 429, 500, 502, 503 and 504 after
\`retry-after\`; do not repeat other requests unchanged. A stream that has begun has status 200, and a failure is one of its events.`;

const TAGS: Record<TagName, string> = {
  Generation: 'Model replies in three formats, plain and streamed, and embeddings.',
  Account: 'Available models, the balance, and what a key may use and has used. Free.',
  Service: 'Probes and this document. No key is required.',
};

/** Returns the HTTP API as OpenAPI 3.1, built from the routes, the formats' schemas, the error codes and rendered examples. */
export function openApiDocument(): object {
  return {
    openapi: '3.1.1',
    info: { title: 'Tollgate', version: VERSION, description: DESCRIPTION, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    servers: [{ url: '/', description: 'The gateway this document comes from' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: Object.fromEntries(
      (Object.keys(ROUTES) as RouteName[]).map((routeName) => {
        const route: Route = ROUTES[routeName];
        return [renderPath(route), { [route.method.toLowerCase()]: operation(route, OPERATIONS[routeName]) }];
      }),
    ),
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'The API key in `Authorization: Bearer`.' },
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'The API key; it takes precedence over `Authorization`.' },
      },
      headers: HEADERS,
      responses: ERROR_RESPONSES,
      schemas: {
        ...CHAT_REQUESTS,
        ...CHAT_REPLIES,
        ...RESPONSES_REQUESTS,
        ...RESPONSES_REPLIES,
        ...MESSAGES_REQUESTS,
        ...MESSAGES_REPLIES,
        ...EMBEDDING_REQUESTS,
        ...EMBEDDING_REPLIES,
        ...ACCOUNT_SCHEMAS,
        ...OWN_KEY_SCHEMAS,
        ...RECEIPT_SCHEMAS,
        ...ESTIMATE_SCHEMAS,
        ...CHILD_KEY_SCHEMAS,
        ...ERROR_SCHEMAS,
      },
    },
  };
}

/** Converts `:id` of a route's path to OpenAPI's `{id}`. */
function renderPath({ path }: Route): string {
  return path.replace(/:(\w+)/g, '{$1}');
}

function operation(
  route: Route,
  { tag, operationId, summary, description, parameters, request, ...replies }: OperationDescription,
): object {
  return {
    tags: [tag],
    operationId,
    summary,
    ...(description !== undefined && { description }),
    security: SECURITY[route.key],
    ...(parameters !== undefined && { parameters }),
    ...(request !== undefined && { requestBody: { required: true, content: { 'application/json': request } } }),
    responses: {
      '200': success(replies),
      ...replies.otherReplies,
      ...errorResponses(route, replies.errors),
    },
  };
}

const SECURITY = {
  none: [],
  bearer: [{ bearer: [] }],
  'bearer-or-x-api-key': [{ bearer: [] }, { apiKey: [] }],
} satisfies Record<Route['key'], object[]>;

function success({
  reply,
  replyHeaders,
  stream,
  isProbe,
  mediaType = 'application/json',
}: Pick<OperationDescription, 'reply' | 'replyHeaders' | 'stream' | 'isProbe' | 'mediaType'>): object {
  return {
    description: stream === undefined ? 'The reply.' : 'The reply; with `stream` as server-sent events, each with data of this schema.',
    headers: { ...(!isProbe && REPLY_HEADERS), ...replyHeaders },
    content: { [mediaType]: reply, ...(stream !== undefined && { 'text/event-stream': stream }) },
  };
}
