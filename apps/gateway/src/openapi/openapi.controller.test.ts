import { startTestGateway } from '../../test/test-gateway.js';
import { openApiDocument } from './document.js';

const gateway = await startTestGateway();
afterAll(() => gateway.close());

function get(path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(`${gateway.url}${path}`, init);
}

test('GET /openapi.json returns the document without a key', async () => {
  const response = await get('/openapi.json');
  expect(await response.json()).toEqual(openApiDocument());
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'content-type': 'application/json',
    'cache-control': 'no-cache',
    etag: expect.stringMatching(/^"[\w-]{43}"$/),
    'x-request-id': expect.stringMatching(/^req_/),
  });
});

test('a current copy gets 304', async () => {
  const etag = (await get('/openapi.json')).headers.get('etag') ?? '';
  const answers = await Promise.all(
    [etag, `W/${etag}`, `"other", ${etag}`, '*', '"other"'].map((tag) => get('/openapi.json', { headers: { 'if-none-match': tag } })),
  );
  expect(answers.map(({ status }) => status)).toEqual([304, 304, 304, 304, 200]);
  const [current] = answers;
  expect([current?.headers.get('etag'), await current?.text()]).toEqual([etag, '']);
});

test('HEAD returns the length and no body', async () => {
  const [head, whole] = await Promise.all([get('/openapi.json', { method: 'HEAD' }), get('/openapi.json')]);
  const { byteLength } = await whole.arrayBuffer();
  expect([head.status, Number(head.headers.get('content-length')), await head.text()]).toEqual([200, byteLength, '']);
});

test('another method gets 405 with `Allow`, and a similar path 404', async () => {
  const wrong = await get('/openapi.json', { method: 'POST', body: '{}' });
  expect([wrong.status, wrong.headers.get('allow'), await wrong.json()]).toEqual([
    405,
    'GET, HEAD',
    { error: { message: expect.any(String), type: 'invalid_request_error', param: null, code: 'invalid_request' } },
  ]);
  const paths = ['/openapi-json', '/openapiXjson', '/openapi.json/more', '/v1/openapi.json'];
  expect(await Promise.all(paths.map(async (path) => (await get(path)).status))).toEqual([404, 404, 404, 404]);
});
