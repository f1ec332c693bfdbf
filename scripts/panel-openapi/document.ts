import { API_PREFIX, ROUTES, type Route } from '../../apps/panel/src/http/routes.ts';
import type { Schema } from '../asyncapi/json-schema.ts';
import type { Handler, PanelApi } from './operations.ts';

type Schemas = Record<string, Schema>;

const DESCRIPTION = `The panel's API, for people and programs: everything that the pages of the panel show and do.

Requests and replies are JSON in UTF-8; files are CSV. Amounts are integer strings of pico-USD (10⁻¹² USD), and dollars as decimal strings
where a field is called \`usd\`. Times are ISO 8601; a time of a request may be a day, which begins at midnight UTC.

People sign in and send the session cookie; a browser may call from the panel's own origin alone. Programs send a token. Each operation
names the permission that it needs; \`all\` as the account stands for the whole platform, where the permission must be held for it.

Lists have pages: repeat the request with \`cursor\` set to \`nextCursor\` until that is null. Creating takes an optional id; a request that
is repeated with the same id has its effect once.`;

const TAGS: Record<string, string> = {
  session: 'Signing in and out.',
  me: 'The signed-in person.',
  members: 'People and their roles.',
  invites: 'One-time links that give a role.',
  sso: 'Sign-in with OpenID Connect. Browsers use it; programs have tokens.',
  tokens: 'Tokens of programs.',
  accounts: 'Accounts.',
  overview: 'The figures of the first page.',
  usage: 'Requests, tokens and costs.',
  requests: 'Single requests and their bills.',
  traffic: 'Requests by outcome, and their times.',
  live: 'Requests as they end.',
  projects: 'Projects and their limits.',
  keys: 'API keys for the gateway.',
  playground: 'Requests to models that people send.',
  money: 'Movements, statements and corrections.',
  models: 'Models, prices and the catalog.',
  upstreams: 'Routes to upstreams.',
  ledger: 'Checks of the ledger.',
  audit: 'Who changed what.',
};

/** Renders the OpenAPI 3.1 document of what `readPanel` has read. */
export function panelDocument({ handlers, errors, schemas }: PanelApi, version: string): object {
  const components = structuredClone(schemas);
  const paths: Record<string, Record<string, object>> = {};
  for (const [name, route] of Object.entries<Route>(ROUTES)) {
    const handler = handlers.find((one) => one.route === name);
    if (!handler) throw new Error(`no controller handles the route ${name}`);
    const path = `${API_PREFIX}${route.path.replace(/:(\w+)/g, '{$1}')}`;
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: renderOperation(name, route, handler, components) };
  }
  return {
    openapi: '3.1.1',
    info: { title: 'Tollgate panel', version, description: DESCRIPTION, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    servers: [{ url: '/', description: 'The panel this document comes from' }],
    tags: Object.entries(TAGS)
      .filter(([name]) => handlers.some(({ tag }) => tag === name))
      .map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: {
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: '__Host-tollgate',
          description: 'The session of a person; `tollgate` over plain http.',
        },
        token: { type: 'http', scheme: 'bearer', description: 'The token of a program, `tg_adm_…`.' },
      },
      headers: { RequestId: { description: 'Names the call in logs and in the audit journal.', schema: { type: 'string' } } },
      responses: renderResponses(errors),
      schemas: referenced(components, paths),
    },
  };
}

function renderOperation(name: string, route: Route, { tag, comment, inputs, reply }: Handler, components: Schemas): object {
  const inPath = [...route.path.matchAll(/:(\w+)/g)].map(([, parameter = '']) => parameter);
  const isRead = route.method === 'GET';
  const query = isRead ? (inputs.Input ?? inputs.Query) : inputs.Query;
  const body = isRead ? undefined : (inputs.Input ?? inputs.Body);
  const message = body && withoutFields(body, inPath, components);
  return {
    operationId: name,
    tags: [tag],
    summary: route.summary,
    description: [comment, describePermission(route)].filter(Boolean).join('\n\n'),
    security: renderSecurity(route),
    parameters: [...inPath.map(pathParameter), ...(query ? queryParameters(query, [...inPath, ...withoutPages(route)], components) : [])],
    ...(message && { requestBody: { required: true, content: { 'application/json': { schema: message } } } }),
    responses: {
      [route.status ?? 200]: renderSuccess(name, route, reply),
      ...listRefusals(route, inPath.length > 0, message !== undefined),
    },
  };
}

/** A file has all pages. */
function withoutPages({ path }: Route): string[] {
  return path.endsWith('.csv') ? ['limit', 'cursor'] : [];
}

function describePermission({ access, confirmed }: Route): string {
  if (access === 'public') return 'No credentials are needed.';
  const needed = access === 'own' ? 'Needs the session of a person.' : `Needs the permission \`${access}\`.`;
  return confirmed ? `${needed} A person must have signed in or confirmed within 10 minutes.` : needed;
}

function renderSecurity({ access }: Route): object[] {
  if (access === 'public') return [];
  return access === 'own' ? [{ session: [] }] : [{ session: [] }, { token: [] }];
}

function pathParameter(name: string): object {
  const isText = ['month', 'requestId', 'provider', 'upstreamId'].includes(name);
  const description = name === 'accountId' ? 'Id of the account, or `all` where a platform role reads everything.' : PATH_FIELDS[name];
  return {
    name,
    in: 'path',
    required: true,
    ...(description && { description }),
    schema: { type: 'string', ...(!isText && name !== 'accountId' && { format: 'uuid' }) },
  };
}

const PATH_FIELDS: Record<string, string> = {
  month: 'Month in UTC: `2027-01`.',
  requestId: "The `x-request-id` of the gateway's reply.",
  upstreamId: 'Id of the upstream in the catalog.',
  provider: "Name of a provider in the panel's settings, in lower case.",
};

function queryParameters(reference: Schema, left: string[], components: Schemas): object[] {
  const { properties = {}, required = [] } = schemaAt(reference, components);
  return Object.entries(properties)
    .filter(([name]) => !left.includes(name))
    .map(([name, { description, ...schema }]) => ({
      name,
      in: 'query',
      ...(required.includes(name) && { required: true }),
      ...(description && { description }),
      ...(schema.type === 'array' && { style: 'form', explode: false }),
      schema,
    }));
}

/** Takes the fields of the path out of a message. Returns its reference, or undefined when nothing is left. */
function withoutFields(reference: Schema, names: string[], components: Schemas): Schema | undefined {
  const message = schemaAt(reference, components);
  const { properties = {} } = message;
  for (const name of names) delete properties[name];
  if (message.required) message.required = message.required.filter((name) => !names.includes(name));
  if (message.required?.length === 0) delete message.required;
  return Object.keys(properties).length > 0 ? reference : undefined;
}

function schemaAt({ $ref = '' }: Schema, components: Schemas): Schema {
  const schema = components[$ref.slice('#/components/schemas/'.length)];
  if (!schema) throw new Error(`there is no schema ${$ref}`);
  return schema;
}

function renderSuccess(name: string, { path, status }: Route, reply: Schema | undefined): object {
  const headers = { 'x-request-id': { $ref: '#/components/headers/RequestId' } };
  if (path.endsWith('.csv'))
    return { description: 'A file, written as fast as it is read.', headers, content: { 'text/csv': { schema: { type: 'string' } } } };
  if (path.endsWith('.pdf'))
    return { description: 'A file.', headers, content: { 'application/pdf': { schema: { type: 'string', format: 'binary' } } } };
  if (status === 303) return { description: 'The browser goes to another address.', headers };
  const events = EVENTS[name];
  if (events)
    return {
      description: `Server-sent events: ${events.description}`,
      headers: { ...headers, ...events.headers },
      content: { 'text/event-stream': { schema: { type: 'string' } } },
    };
  if (status === 204 || !reply) return { description: 'Done.', headers };
  return { description: 'The reply.', headers, content: { 'application/json': { schema: reply } } };
}

/** Routes whose reply is a stream of events. */
const EVENTS: Record<string, { description: string; headers?: object }> = {
  showLive: {
    description:
      '`requests` with a list of `EndedRequest`, and `skipped` with `{"count"}` for a client that reads too slowly. A comment comes every 15 seconds.',
  },
  runPlayground: {
    description:
      "those of the gateway's `POST /v1/chat/completions`, as they come. A failure after the start is one more event with the body of an error, without `[DONE]` after it.",
    headers: {
      'x-gateway-request-id': {
        description: 'Id of the request at the gateway, for `GET /requests/{requestId}`. Refusals of the gateway have it too.',
        schema: { type: 'string' },
      },
    },
  },
  testUpstream: {
    description:
      '`test-start`, a `check-end` for each check, and `test-end`, each with the object of its name in the NATS API, or `error` with the body of an error. A comment comes every 15 seconds.',
  },
};

function listRefusals({ access, method }: Route, hasPath: boolean, hasBody: boolean): Record<string, object> {
  const isPlayground = access === 'playground';
  const statuses = [400, 401, ...(access === 'money.write' || isPlayground ? [402] : []), 403, ...(hasPath || isPlayground ? [404] : [])];
  statuses.push(...(method === 'GET' ? [] : [409]), ...(hasBody ? [413] : []), 429, 500, ...(isPlayground ? [502, 504] : []), 503);
  return Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/Refusal${status}` }]));
}

/** One response for each status, with the codes that have it. */
function renderResponses(errors: PanelApi['errors']): Record<string, object> {
  const byStatus = Map.groupBy(Object.entries(errors), ([, { status }]) => status);
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      `Refusal${status}`,
      {
        description: codes.map(([code]) => `\`${code}\``).join(', '),
        headers: { 'x-request-id': { $ref: '#/components/headers/RequestId' } },
        content: { 'application/json': { schema: { $ref: '#/components/schemas/PanelErrorBody' } } },
      },
    ]),
  );
}

/** The schemas that the paths and the errors use, and those that these use. */
function referenced(schemas: Schemas, paths: object): Schemas {
  const kept: Schemas = {};
  const keep = (value: object): void => {
    for (const [$ref, name] of JSON.stringify(value).matchAll(/(?<=")#\/components\/schemas\/(\w+)(?=")/g)) {
      if (!name || kept[name]) continue;
      kept[name] = schemaAt({ $ref }, schemas);
      keep(kept[name]);
    }
  };
  keep([paths, { $ref: '#/components/schemas/PanelErrorBody' }]);
  return Object.fromEntries(Object.entries(kept).sort(([one], [other]) => (one < other ? -1 : 1)));
}
