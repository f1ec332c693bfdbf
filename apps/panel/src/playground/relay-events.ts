import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { PanelError } from '../errors/panel-error.js';

/** Bytes of one event. An event of the gateway has a few pieces of text. */
const EVENT_BYTES_MAX = 1024 * 1024;
const EVENT_END = Buffer.from('\n\n');

/**
 * Writes a stream of server-sent events to the client as fast as the client reads. Whole events are written, so that an error event may
 * follow whenever the stream breaks. Rejects with the reason of the signal, or with the failure of the stream.
 */
export async function relayEvents(stream: AsyncIterable<Uint8Array>, response: Writable, signal: AbortSignal): Promise<void> {
  for await (const events of wholeEvents(stream)) {
    signal.throwIfAborted();
    if (!response.write(events)) await once(response, 'drain', { signal });
  }
}

/** Yields the bytes of a stream up to the end of an event. */
async function* wholeEvents(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0);
  for await (const bytes of stream) {
    rest = Buffer.concat([rest, bytes]);
    const end = rest.lastIndexOf(EVENT_END);
    if (end >= 0) {
      yield rest.subarray(0, end + EVENT_END.length);
      rest = rest.subarray(end + EVENT_END.length);
    }
    if (rest.length > EVENT_BYTES_MAX) throw new PanelError('unavailable', 'The gateway sent an event that is too long.');
  }
}
