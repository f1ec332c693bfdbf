import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'undici';
import { listModels, parseModelList } from './list-models.js';

test.each([
  ['OpenAI', '{"object":"list","data":[{"id":"a"},{"id":"b"}]}', [{ id: 'a' }, { id: 'b' }]],
  ['vLLM', '{"data":[{"id":"a","max_model_len":8192}]}', [{ id: 'a', contextTokens: 8_192 }]],
  ['OpenRouter', '{"data":[{"id":"a","context_length":4096}]}', [{ id: 'a', contextTokens: 4_096 }]],
  ['Groq', '{"data":[{"id":"a","context_window":131072}]}', [{ id: 'a', contextTokens: 131_072 }]],
  ['llama.cpp', '{"data":[{"id":"a","meta":{"n_ctx_train":32768}}]}', [{ id: 'a', contextTokens: 32_768 }]],
  ['a bare list, of names', '[{"name":"a"}]', [{ id: 'a' }]],
  ['sizes that are none', '{"data":[{"id":"a","max_model_len":"large","context_length":0}]}', [{ id: 'a' }]],
  ['entries that are none', '{"data":["a",null,{"id":7},{"id":"b"}]}', [{ id: 'b' }]],
])('%s', (_name, text, models) => {
  expect(parseModelList(text)).toEqual(models);
});

test.each(['', '<html>', 'null', '7', '{"data":{}}', '{"error":{}}'])('%j is no list', (text) => {
  expect(parseModelList(text)).toBeUndefined();
});

describe('over HTTP', () => {
  let server: Server;
  let pool: Pool;
  let respond: (response: ServerResponse) => void;
  let heard: unknown;

  beforeEach(async () => {
    server = createServer((request, response) => {
      const { authorization, 'content-type': contentType } = request.headers;
      heard = { method: request.method, url: request.url, authorization, contentType };
      respond(response);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    pool = new Pool(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  });
  afterEach(async () => {
    await pool.destroy();
    server.closeAllConnections();
    server.close();
  });

  const list = (signal = new AbortController().signal) =>
    listModels({ pool, basePath: '/v1/' }, async () => ({ authorization: 'Bearer k' }), signal);

  test('the request has the key', async () => {
    respond = (response) => void response.end('{"data":[{"id":"a"}]}');
    expect(await list()).toEqual([{ id: 'a' }]);
    expect(heard).toEqual({ method: 'GET', url: '/v1/models', authorization: 'Bearer k' });
  });

  test('a missing list is not an error', async () => {
    respond = (response) => void response.writeHead(404).end('{"data":[]}');
    expect(await list()).toBeUndefined();
    respond = (response) => void response.destroy();
    expect(await list()).toBeUndefined();
  });

  test('an endless list is abandoned', async () => {
    let left: Promise<unknown> | undefined;
    respond = (response) => {
      left = once(response, 'close');
      const write = (): void => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      };
      response.on('drain', write);
      write();
    };
    expect(await list()).toBeUndefined();
    await left;
  });

  test('a cancelled request rejects', async () => {
    const asking = new AbortController();
    respond = () => asking.abort(new Error('left'));
    await expect(list(asking.signal)).rejects.toThrow('left');
  });
});
