import { createLogger } from '#observability/logger.js';
import type { AccessLog } from '../src/http/access-log.js';
import type { HttpExchange } from '../src/http/http-exchange.js';
import { HttpServer } from '../src/http/server/http-server.js';

/** Starts an `HttpServer` on its own port with a handler in place of Nest. */
export async function startTestServer(
  handler: ConstructorParameters<typeof HttpServer>[0],
  { drainMs = 5_000, connectionsMax = 100 } = {},
): Promise<{ server: HttpServer; port: number; logged: object[] }> {
  const logged: object[] = [];
  const write = ({ error }: HttpExchange, { status }: { status?: number }): void => void logged.push({ status, code: error?.code });
  const accessLog = { write } as unknown as AccessLog;
  const limits = { connectionsMax, drainMs, trustedProxyHops: 0, shutdownGraceMs: 0 };
  const server = new HttpServer(handler, accessLog, createLogger('test', 'silent'), limits, () => true);
  return { server, port: await server.listen(0, '127.0.0.1'), logged };
}
