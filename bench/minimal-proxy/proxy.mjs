/**
 * A minimal proxy on Node that only forwards requests and replies: the baseline for the cost of everything else.
 * Usage: node proxy.mjs <port> <upstream origin>
 */
import { createServer } from 'node:http';
import { Pool } from 'undici';

const [port = '0', origin = ''] = process.argv.slice(2);
const upstream = new Pool(origin, { connections: 2048, pipelining: 1 });

const server = createServer((request, response) => {
  const { authorization, 'content-type': contentType, 'content-length': contentLength } = request.headers;
  const headers = { authorization, 'content-type': contentType, 'content-length': contentLength };
  upstream
    .stream({ path: request.url ?? '/', method: 'POST', headers, body: request }, ({ statusCode, headers: replyHeaders }) => {
      const { connection, 'keep-alive': keepAlive, 'transfer-encoding': transferEncoding, ...kept } = replyHeaders;
      return response.writeHead(statusCode, kept);
    })
    .catch(() => response.destroy());
});
server.keepAliveTimeout = 120_000;
server.listen(Number(port), '127.0.0.1');
