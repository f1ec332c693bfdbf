import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { relayEvents } from './relay-events.js';

const NEVER = new AbortController().signal;

test('nothing is read while the client does not read', async () => {
  let sent = 0;
  async function* events() {
    for (; sent < 10; sent += 1) yield Buffer.from(`data: ${sent}\n\n`);
  }
  const client = new PassThrough({ highWaterMark: 1 });
  const relayed = relayEvents(events(), client, NEVER);
  await once(client, 'readable');
  expect(sent).toBe(0);
  client.resume();
  await relayed;
  expect(sent).toBe(10);
});

test('an abort rejects with its reason, also while the client does not read', async () => {
  async function* events() {
    for (;;) yield Buffer.from('data: 1\n\n');
  }
  const [abort, client] = [new AbortController(), new PassThrough({ highWaterMark: 1 })];
  const relayed = relayEvents(events(), client, abort.signal);
  await once(client, 'readable');
  abort.abort(new Error('over'));
  await expect(relayed).rejects.toMatchObject({ name: 'AbortError', cause: new Error('over') });
});

test('an event without an end is refused', async () => {
  async function* events() {
    for (;;) yield Buffer.alloc(64 * 1024, 'x');
  }
  await expect(relayEvents(events(), new PassThrough(), NEVER)).rejects.toMatchObject({ code: 'unavailable' });
});
