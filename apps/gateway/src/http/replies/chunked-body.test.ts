import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { ChunkedBody } from './chunked-body.js';

let server: Server;

afterEach(() => {
  server.close();
  server.closeAllConnections();
});

/** Connects to a server that answers every request with `write`. */
async function connectTo(write: (body: ChunkedBody) => void): Promise<Socket> {
  server = createServer((_request, response: ServerResponse) => {
    response.writeHead(200, ['content-type', 'text/plain']);
    write(new ChunkedBody(response));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return connect((server.address() as AddressInfo).port, '127.0.0.1').setEncoding('utf8');
}

/** Returns the head and the raw body of a reply, read until `end` matches. */
async function exchange(version: string, write: (body: ChunkedBody) => void, end: RegExp): Promise<{ head: string; body: string }> {
  const socket = await connectTo(write);
  socket.write(`GET / HTTP/${version}\r\nhost: test\r\n\r\n`);
  let text = '';
  for await (const bytes of socket) {
    text += bytes;
    if (end.test(text)) break;
  }
  const [head = '', ...rest] = text.split('\r\n\r\n');
  return { head, body: rest.join('\r\n\r\n') };
}

const LAST = /\r\n0\r\n\r\n$/;

test('each write is one chunk with its size in bytes, and the end sends the last chunk', async () => {
  const { head, body } = await exchange(
    '1.1',
    (chunks) => {
      chunks.write('née ');
      chunks.end('x');
    },
    LAST,
  );
  expect(body).toBe('5\r\nnée \r\n1\r\nx\r\n0\r\n\r\n');
  expect(head).toMatch(/\r\ntransfer-encoding: chunked(\r\n|$)/i);
});

test('an end without text sends only the last chunk', async () => {
  const { body } = await exchange(
    '1.1',
    (chunks) => {
      chunks.write('x');
      chunks.end('');
    },
    LAST,
  );
  expect(body).toBe('1\r\nx\r\n0\r\n\r\n');
});

test('an HTTP/1.0 client gets the plain body, ended by the connection', async () => {
  const { head, body } = await exchange(
    '1.0',
    (chunks) => {
      chunks.write('ab');
      chunks.end('c');
    },
    /(?!)/,
  );
  expect(body).toBe('abc');
  expect(head).not.toMatch(/chunked/i);
});
