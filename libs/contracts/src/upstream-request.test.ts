import { headersFault, pathFault, queryFault, renderPath, renderQuery } from './upstream-request.js';

const PATH = 'must be a path below baseUrl without / at its ends, such as openai/deployments/{model}/chat/completions';

test.each<[unknown, string | undefined]>([
  ['openai/deployments/{model}/chat/completions', undefined],
  ['v1/models/{model}:generate', undefined],
  ['run', undefined],
  ['/run', PATH],
  ['run/', PATH],
  ['a//b', PATH],
  ['a?b=c', PATH],
  ['a#b', PATH],
  ['a b', PATH],
  ['a%2e%2e/b', PATH],
  ['a\\b', PATH],
  ['{modell}', PATH],
  ['', PATH],
  [7, PATH],
  ['a'.repeat(501), PATH],
  ['a/../b', 'must not have . or .. between slashes'],
  ['./b', 'must not have . or .. between slashes'],
])('the path %j: %s', (path, fault) => {
  expect(pathFault(path)).toBe(fault);
});

test.each<[string, string, string | undefined]>([
  ['a/{model}/b', 'gpt-4o', 'a/gpt-4o/b'],
  ['a/{model}/b', 'org/large 2?x=1#y', 'a/org%2Flarge%202%3Fx%3D1%23y/b'],
  ['{model}/{model}', 'ä', '%C3%A4/%C3%A4'],
  ['a/{model}', "$&'\ud800", "a/%24%26'%EF%BF%BD"],
  ['a/b', '..', 'a/b'],
  ['a/{model}', '..', undefined],
  ['a/.{model}', '.', undefined],
  ['a/{model}/b', '../../admin', undefined],
  ['a/{model}/b', 'x/..\\..', undefined],
  ['a/{model}/b', 'v1..2', 'a/v1..2/b'],
])('%s with the model %j is %s', (path, model, rendered) => {
  expect(renderPath(path, model)).toBe(rendered);
});

const GROUP = 'must be a group of 1 to 20 query parameters, such as api-version: "2024-10-21"';

test.each<[unknown, string | undefined]>([
  [{ 'api-version': '2024-10-21' }, undefined],
  [{ 'api-version': 2024 }, 'must have text of 1 to 1000 characters for api-version; put it in quotes'],
  [{ a: '' }, 'must have text of 1 to 1000 characters for a'],
  [{ 'a b': 'c' }, 'has a name that is none of a query parameter'],
  [{ key: 'abc' }, 'must not have key: secrets belong into headers, with env or file'],
  [{ access_token: 'abc' }, 'must not have access_token: secrets belong into headers, with env or file'],
  [{ sig: 'abc' }, 'must not have sig: secrets belong into headers, with env or file'],
  [{ Code: 'abc' }, 'must not have Code: secrets belong into headers, with env or file'],
  [{ passphrase: 'abc' }, 'must not have passphrase: secrets belong into headers, with env or file'],
  [{ monkey: 'abc', design: 'x', 'country-code': 'de', compass: 'n', pattern: 'p', author: 'a' }, undefined],
  [{}, GROUP],
  [['a'], GROUP],
  [null, GROUP],
  [Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`a${index}`, 'b'])), GROUP],
])('the query %j: %s', (query, fault) => {
  expect(queryFault(query)).toBe(fault);
});

test('a query is escaped', () => {
  expect([renderQuery({ 'api-version': '2024', q: 'a b&c=d' }), renderQuery(null), renderQuery(undefined)]).toEqual([
    '?api-version=2024&q=a%20b%26c%3Dd',
    '',
    '',
  ]);
});

const secret = (name: string) => `must have { env: UPSTREAM_KEY_… } or { file: … } for ${name}: the catalog holds no secrets`;
const neither = (name: string) => `must have a text, { env: UPSTREAM_KEY_… } or { file: … } for ${name}`;

test.each<[unknown, string | undefined]>([
  [{ 'anthropic-beta': 'context-1m-2025-08-07', 'x-route': 'a, b', 'openai-project': 'p' }, undefined],
  [{ 'x-portkey-provider': 'openai', 'max-tokens': '5', 'x-pass-through': 'on', bypass: 'a', code: 'de' }, undefined],
  [{ 'Ocp-Apim-Subscription-Key': { env: 'UPSTREAM_KEY_APIM' }, cookie: { file: 'relay/cookie' } }, undefined],
  ...[
    'ocp-apim-subscription-key',
    'x-api-key',
    'api-key',
    'apikey',
    'cookie',
    'x-auth-token',
    'X-AccessToken',
    'x-client-secret',
    'session',
    'pass',
    'X-Relay-Pass',
    'x-passphrase',
    'x-pat',
    'x-authn',
    'X-Authentication',
  ].map((name): [unknown, string] => [{ [name]: 'abc' }, secret(name)]),
  ...['host', 'Content-Length', 'transfer-encoding', 'Proxy-Authorization', 'accept-encoding', 'traceparent'].map(
    (name): [unknown, string] => [{ [name]: 'abc' }, `must not have ${name.toLowerCase()}: Tollgate sets it`],
  ),
  [{ Authorization: { env: 'UPSTREAM_KEY_A' } }, 'must not have authorization: name the key in apiKeyEnv, apiKeyFile or auth'],
  [{ 'x-a': 'Bearer sk-1' }, 'must have text of 1 to 1000 characters for x-a'],
  [{ 'x-a': 'b\r\nhost: c' }, 'must have text of 1 to 1000 characters for x-a'],
  [{ 'x-a': ' b' }, 'must have text of 1 to 1000 characters for x-a'],
  [{ 'x-a': 7 }, 'must have text of 1 to 1000 characters for x-a; put it in quotes'],
  [{ 'x-a': 'b', 'X-A': 'c' }, 'has x-a twice'],
  [{ 'x a': 'b' }, 'has a name that is none of a header'],
  [{ __proto__x: 'b' }, 'has a name that is none of a header'],
  [{ 'x-a': { env: 'OPENAI_API_KEY' } }, 'must name a variable such as UPSTREAM_KEY_APIM in env of x-a, never the secret itself'],
  [{ 'x-a': { env: 'UPSTREAM_KEY_A_HOSTS' } }, 'must name a variable such as UPSTREAM_KEY_APIM in env of x-a, never the secret itself'],
  [{ 'x-a': { file: '../nats_seed' } }, 'must name a file of UPSTREAM_SECRETS_DIR in file of x-a, never the secret itself'],
  [{ 'x-a': { file: 'kubernetes.io/token' } }, 'must name a file of UPSTREAM_SECRETS_DIR in file of x-a, never the secret itself'],
  [{ 'x-a': { env: 'UPSTREAM_KEY_A', file: 'a' } }, neither('x-a')],
  [{ 'x-a': {} }, neither('x-a')],
  [{ 'x-a': { value: 'b' } }, neither('x-a')],
  [{ 'x-a': ['b'] }, neither('x-a')],
  [{}, 'must be a group of 1 to 20 headers, such as anthropic-beta: context-1m-2025-08-07'],
  ['x-a: b', 'must be a group of 1 to 20 headers, such as anthropic-beta: context-1m-2025-08-07'],
])('the headers %j: %s', (headers, fault) => {
  expect(headersFault(headers)).toBe(fault);
});
