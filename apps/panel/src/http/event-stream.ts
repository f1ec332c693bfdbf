import type { Response } from 'express';
import { toPanelError } from './to-panel-error.js';

/** Head of a reply with server-sent events. Proxies must not collect them. */
export const EVENT_STREAM_HEADERS = { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' };

/** Milliseconds between two pings. */
const PING_MS = 15_000;

/**
 * Sends events as they come, each with its `type` as its name. The head waits for the first one, so that a refusal has its own status; a
 * later failure is the event `error` with the body of an error.
 */
export async function sendEvents(response: Response, batches: AsyncIterable<readonly { type: string }[]>): Promise<void> {
  const write = (name: string, data: object) => response.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
  let pings: NodeJS.Timeout | undefined;
  try {
    for await (const batch of batches) {
      if (response.destroyed) return;
      if (!response.headersSent) response.writeHead(200, EVENT_STREAM_HEADERS);
      pings ??= setInterval(() => response.write(': ping\n\n'), PING_MS);
      for (const event of batch) write(event.type, event);
    }
  } catch (error) {
    if (response.destroyed) return;
    if (!response.headersSent) throw error;
    write('error', toPanelError(error).body);
  } finally {
    clearInterval(pings);
  }
  response.end();
}
