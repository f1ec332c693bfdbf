import { renderHttpReference } from './http-reference.ts';
import { renderNatsReference } from './nats-reference.ts';

const schemas = {
  Thing: {
    type: 'object',
    description: 'A thing.',
    required: ['id'],
    properties: {
      id: { type: 'string', maxLength: 8, description: 'Its id, such as `<id>`, below <n> | m.' },
      state: { type: ['string', 'null'], enum: ['on', null] },
      parts: { type: 'array', items: { $ref: '#/components/schemas/Part' } },
    },
  },
  Part: { type: 'integer', minimum: 1 },
};
const SCHEMAS = `## Schemas

### Part

integer, minimum \`1\`

### Thing

A thing.

| field | type | required | meaning |
|---|---|---|---|
| \`id\` | string, maxLength \`8\` | yes | Its id, such as \`<id>\`, below &lt;n> \\| m. |
| \`state\` | \`"on"\`, \`null\` |  |  |
| \`parts\` | list of [Part](#part) |  |  |

`;

test('the page of an OpenAPI document has each operation with its parameters, body and replies, and each schema', () => {
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } };
  const page = renderHttpReference(
    {
      info: { title: 'T', description: 'All of it.' },
      paths: {
        '/things/{id}': {
          put: {
            summary: 'Replaces a thing',
            parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
            requestBody: { content },
            responses: { 200: { description: 'The thing.', content }, 404: { $ref: '#/components/responses/Missing' } },
          },
        },
      },
      components: { schemas, responses: { Missing: { description: 'No such thing.' } } },
    },
    { title: 'Things', source: 'things.json' },
  );
  expect(page).toBe(`# Things

All of it.

The document: [things.json](/things.json).

## Operations

### \`PUT /things/{id}\`

Replaces a thing.

| parameter | in | type | required | meaning |
|---|---|---|---|---|
| \`id\` | path | string | yes |  |

Body: [Thing](#thing) (\`application/json\`)

| status | meaning | body |
|---|---|---|
| 200 | The thing. | [Thing](#thing) (\`application/json\`) |
| 404 | No such thing. |  |

${SCHEMAS}`);
});

test('the page of an AsyncAPI document has each subject with its messages and callers, and each schema', () => {
  const page = renderNatsReference({
    info: { description: 'Over NATS.' },
    channels: {
      get: { address: 'v1.thing.get', messages: { request: { payload: { $ref: '#/components/schemas/Part' } } } },
      got: { address: null, messages: { reply: { payload: { $ref: '#/components/schemas/Thing' } }, error: { $ref: '#/e' } } },
    },
    operations: {
      get: {
        action: 'receive',
        summary: 'A thing',
        channel: { $ref: '#/channels/get' },
        reply: { channel: { $ref: '#/channels/got' } },
        'x-callers': ['cli'],
      },
    },
    components: { schemas },
  });
  expect(page).toBe(`# Messages over NATS

Over NATS.

The document: [asyncapi.yaml](/asyncapi.yaml).

## Subjects

### \`v1.thing.get\`

A thing.

- Request: [Part](#part)
- Reply: [Thing](#thing)
- Callers: \`cli\`

${SCHEMAS}`);
});
