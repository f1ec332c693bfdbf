import type { Contract, Contracts } from './contracts.ts';
import type { Schema } from './json-schema.ts';
import type { Users } from './nats-users.ts';

const ERROR_HEADERS = {
  type: 'object',
  properties: {
    'Nats-Service-Error-Code': { type: 'string', description: 'An HTTP status. Its presence distinguishes a refusal from a reply.' },
    'Nats-Service-Error': { type: 'string', description: 'The message in one line, cut at 256 characters.' },
    'Tollgate-Error-Code': { type: 'string', description: 'The code.' },
    'Tollgate-Error-Param': { type: 'string', description: 'The field of the request at fault, if there is one.' },
  },
  required: ['Nats-Service-Error-Code', 'Nats-Service-Error', 'Tollgate-Error-Code'],
};

/** Renders the AsyncAPI 3 document of the contracts. `users` has the permissions, `version` is that of Tollgate. */
export function asyncApiDocument({ contracts, schemas }: Contracts, users: Users, version: string): object {
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Tollgate over NATS',
      version,
      description:
        'Requests and events of the services of Tollgate: plain JSON on versioned subjects. Services ignore unknown fields of requests, and clients must ignore unknown fields of replies. Operations with x-recorded have a row in an audit journal: the user cli calls them on their address, any other user on <address>.by.<user>. Operations with x-for-services are for internal services, each on <address>.by.<service>; crawler is the example of the pages. nats-api.md has examples.',
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    defaultContentType: 'application/json',
    servers: { nats: { host: 'localhost:4222', protocol: 'nats', security: [{ $ref: '#/components/securitySchemes/user' }] } },
    channels: Object.assign({}, ...contracts.map(renderChannels)),
    operations: Object.fromEntries(contracts.map((contract) => [contract.name, renderOperation(contract, users)])),
    components: {
      securitySchemes: {
        user: {
          type: 'userPassword',
          description: 'The users of config/nats.conf, with an NKey or a password. Each may use only the subjects it needs.',
        },
      },
      messages: {
        error: {
          summary: 'A refusal. The request was not processed.',
          headers: ERROR_HEADERS,
          payload: { $ref: '#/components/schemas/Error' },
        },
      },
      schemas: { ...schemas, Error: ERROR },
    },
  };
}

const ERROR = {
  type: 'object',
  description: 'Reason of a refusal.',
  properties: {
    code: { $ref: '#/components/schemas/ServiceErrorCode' },
    message: { type: 'string' },
    param: { type: 'string', description: 'The field of the request at fault.' },
    details: {
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'Figures by name; amounts are integers of pico-USD.',
    },
  },
  required: ['code', 'message'],
};

function renderChannels({ name, kind, subject, input, output }: Contract): Record<string, object> {
  const refusal = { error: { $ref: '#/components/messages/error' } };
  const channel = (messages: Record<string, { payload: Schema }>): object => ({
    address: subject,
    servers: [{ $ref: '#/servers/nats' }],
    messages,
  });
  if (kind === 'event') return { [name]: channel({ event: { payload: input } }) };
  return {
    [name]: channel({ request: { payload: input } }),
    [`${name}Reply`]: {
      address: null,
      messages: { reply: { summary: kind === 'stream' ? 'One event of the framed stream.' : 'The reply.', payload: output }, ...refusal },
    },
  };
}

function renderOperation({ name, kind, subject, description, isRecorded, isForServices, comment }: Contract, users: Users): object {
  const [service = ''] = subject.split('.');
  const about = {
    summary: description,
    ...(comment && { description: comment }),
    tags: [{ name: service }],
    channel: { $ref: `#/channels/${name}` },
  };
  if (kind === 'event') return { action: 'send', ...about, 'x-listeners': users.mayListen(subject).filter((user) => user !== service) };
  return {
    action: 'receive',
    ...about,
    bindings: { nats: { queue: QUEUES[service], bindingVersion: '0.1.0' } },
    'x-callers': isForServices ? SERVICES : isRecorded ? listNamedCallers(subject, users) : users.mayPublish(subject),
    ...(isRecorded && { 'x-recorded': true }),
    ...(isForServices && { 'x-for-services': true }),
    reply: { channel: { $ref: `#/channels/${name}Reply` } },
  };
}

/** Callers of an endpoint for internal services: its users are the operator's own, in the files of users. */
export const SERVICES = ['internal services'];

/** Returns the users of an endpoint with a subject for each: the plain one for the cli, `<subject>.by.<user>` for any other. */
export function listNamedCallers(subject: string, { names, mayPublish }: Users): string[] {
  return names.filter((user) => mayPublish(user === 'cli' ? subject : `${subject}.by.${user}`).includes(user));
}

/** Queue groups by the first token of the subject. */
const QUEUES: Record<string, string> = {
  billing: 'billing',
  catalog: 'catalog',
  inference: 'inference-proxy',
  payments: 'payments',
  policy: 'policy',
};
