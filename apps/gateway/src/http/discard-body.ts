import type { IncomingMessage } from 'node:http';

const BYTES_MAX = 64 * 1024 * 1024;
const MS_MAX = 30_000;

/**
 * After an early reply: reads what the client is still sending and forgets it. A client that writes before it reads would
 * otherwise find its connection reset instead of the reply. One that does not stop is cut off.
 */
export function discardBody(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  const { socket } = request;
  let bytes = 0;
  const timer = setTimeout(() => socket.destroy(), MS_MAX);
  const stop = (): void => clearTimeout(timer);
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > BYTES_MAX) socket.destroy();
  });
  request.once('end', stop);
  request.once('close', stop);
  request.resume();
}
