import type { IncomingMessage } from 'node:http';

/** Four of the largest bodies: clients that write before they read announce more than they may send, but not much more. */
const BYTES_MAX = 32 * 1024 * 1024;
const MS_MAX = 10_000;
/** Refused bodies that are read at the same time; more would make refusals a way to keep the gateway busy. */
const AT_ONCE_MAX = 256;
/** A chunk costs about as much time as so many bytes of it: many small ones end sooner. */
const CHUNK_COST_BYTES = 256;

let discarding = 0;

/** False while so many refused bodies are being read that the next client has to be cut off. */
export function canDiscardBody(): boolean {
  return discarding < AT_ONCE_MAX;
}

/**
 * Reads what a client is still sending and forgets it; resolves when it is done. One that does not stop is cut off. Closing
 * the connection while the client writes would reset it, and the reply would be lost on the way.
 */
export function discardBody(request: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    if (request.complete || request.destroyed) return resolve();
    const { socket } = request;
    let bytes = 0;
    let isOver = false;
    discarding++;
    const timer = setTimeout(() => socket.destroy(), MS_MAX);
    const done = (): void => {
      if (isOver) return;
      isOver = true;
      discarding--;
      clearTimeout(timer);
      resolve();
    };
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length + CHUNK_COST_BYTES;
      if (bytes > BYTES_MAX) socket.destroy();
    });
    request.once('end', done).once('close', done).resume();
  });
}
