import type { IncomingMessage } from 'node:http';

/** Four times the largest accepted body. Clients that write before they read may exceed that limit, but not by much. */
const BYTES_MAX = 32 * 1024 * 1024;
const MS_MAX = 10_000;
/** Refused bodies read at the same time. More would let refused clients keep the gateway busy. */
const AT_ONCE_MAX = 256;
/** Bytes that each chunk counts in addition to its own: the fixed cost of a chunk is about that of 256 bytes. */
const CHUNK_COST_BYTES = 256;

let discarding = 0;

/** False while so many refused bodies are being read that the next one must be closed instead. */
export function canDiscardBody(): boolean {
  return discarding < AT_ONCE_MAX;
}

/**
 * Reads and drops the rest of a body; resolves at its end. Closing the connection while the client writes would reset it, and the client
 * would lose the reply. A client that sends too much or too long is disconnected.
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
