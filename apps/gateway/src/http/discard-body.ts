import type { IncomingMessage } from 'node:http';

const BYTES_MAX = 64 * 1024 * 1024;
const MS_MAX = 30_000;

/**
 * Reads what a client is still sending and forgets it; resolves when it is done. One that does not stop is cut off. Closing
 * the connection while the client writes would reset it, and the reply would be lost on the way.
 */
export function discardBody(request: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    if (request.complete || request.destroyed) return resolve();
    const { socket } = request;
    let bytes = 0;
    const timer = setTimeout(() => socket.destroy(), MS_MAX);
    const done = (): void => {
      clearTimeout(timer);
      resolve();
    };
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > BYTES_MAX) socket.destroy();
    });
    request.once('end', done).once('close', done).resume();
  });
}
