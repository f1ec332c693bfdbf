import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Controller } from '@nestjs/common';
import { connect, type NatsConnection } from 'nats';
import { startNatsServer, type TestNatsServer } from '#testing/nats-server.js';
import { Connections, countUp, eventually, serve } from '../testing/test-services.js';
import { WINDOW_BYTES } from './frames.js';
import { Serves } from './serves.js';

/** Memory of a stream whose reader takes nothing: its writer, with the resend window. README.md has the figures that this prints. */
const STREAMS = 1_000;
/** Beyond the window: the last frame, and the writer with its source, its signal and its two subjects. */
const OVERHEAD_BYTES = 16 * 1024;

let server: TestNatsServer;
let reader: NatsConnection;
const connections = new Connections(() => server.url);

beforeAll(async () => {
  server = await startNatsServer();
  reader = await connect({ servers: server.url });
});
afterAll(async () => {
  await connections.closeAll();
  await reader.close();
  await server.stop();
});

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

async function usedBytes(): Promise<number> {
  for (let n = 0; n < 3; n++) {
    await delay(20);
    collect();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

test.each([
  ['of 1 kB', 250],
  ['of 100 bytes', 25],
  ['of 10 bytes', 2],
])('a stalled stream of frames %s takes its window and little more', async (size, numbers) => {
  @Controller()
  class Counter {
    @Serves(countUp) async *count(): AsyncIterable<readonly number[]> {
      for (;;) {
        yield Array.from({ length: numbers }, () => 100 + Math.floor(900 * Math.random()));
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
  }
  const service = await connections.connect('test');
  const app = await serve(service, [Counter]);
  // Answers heartbeats, so that it counts as alive, and takes nothing.
  const inbox = reader.subscribe('_INBOX.stalled.*', {
    callback: (_error, message) => message.string().startsWith('H') && message.respond('C0'),
  });
  const open = async (from: number, count: number): Promise<void> => {
    for (let n = from; n < from + count; n++)
      reader.publish(countUp.subject, '{"count":1}', { reply: `_INBOX.stalled.${size.length}${n}` });
    await eventually(() => service.link.inbox.counts().withoutCredit === from + count, 60_000);
  };
  await open(0, 100); // what the first streams allocate once is not a stream's
  const before = await usedBytes();
  await open(100, STREAMS);
  const bytes = ((await usedBytes()) - before) / STREAMS;
  console.info(`a stalled stream of frames ${size}: ${(bytes / 1_000).toFixed(1)} kB`);
  expect(service.link.inbox.counts().withoutCredit).toBe(100 + STREAMS);
  expect(bytes).toBeLessThan(WINDOW_BYTES + OVERHEAD_BYTES);
  inbox.unsubscribe();
  await app.close();
  await connections.closeAll();
});
