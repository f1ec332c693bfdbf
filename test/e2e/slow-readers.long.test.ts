import { setTimeout as delay } from 'node:timers/promises';
import type { FaultServer } from '#testing/fault-server.js';
import { untilNoHolds } from '#testing/tenant.js';
import type { FaultStack } from './fault-stack.js';
import { FloodingUpstream, residentBytes, SlowReader, startFlood, until } from './slow-readers.js';

/**
 * Two thousand clients that read a kilobyte now and then from an upstream that sends everything at once. Run it with small kernel
 * buffers to see the buffers of the processes, on Linux in a network namespace:
 *
 *     unshare -n sh -c 'ip link set lo up; sysctl -qw net.ipv4.tcp_rmem="4096 16384 32768" net.ipv4.tcp_wmem="4096 16384 32768"; \
 *       npm run test:long -- slow-readers'
 */
const READERS = Number(process.env.SLOW_READERS ?? 2_000);
const BYTES_MAX = 400_000_000;
const TEXT_BYTES = 512 * 1024;

let stack: FaultStack;
let server: FaultServer;

beforeAll(async () => {
  // Long enough that no client is disconnected for reading nothing.
  ({ stack, server } = await startFlood(600_000));
}, 120_000);
afterAll(async () => {
  await Promise.all([stack?.stop(), server?.stop()]);
}, 60_000);

test(`${READERS} slow readers take at most 400 MB over idle, in all processes together`, async () => {
  const upstream = new FloodingUpstream(1_000, TEXT_BYTES);
  server.behave(upstream.fault);
  // Idle memory is measured after some work.
  for (let n = 0; n < 10; n++)
    await Promise.all(Array.from({ length: 50 }, () => stack.ask('chat', 'flood', { outputTokensMax: 1_000_000 })));
  await delay(2_000);
  const idle = await residentBytes(stack);
  const readers: SlowReader[] = [];
  while (readers.length < READERS) {
    readers.push(...(await Promise.all(Array.from({ length: 50 }, () => SlowReader.open(stack, 'flood', 1_000_000)))));
  }
  let most = { gateway: 0, proxy: 0, nats: 0 };
  for (let second = 0; second < 20; second++) {
    for (const reader of readers) reader.sip(1_000);
    await delay(1_000);
    const now = await residentBytes(stack);
    if (sum(now) > sum(most)) most = now;
  }
  const stopped = upstream.openStreams;
  const over = sum(most) - sum(idle);
  console.log(
    `${READERS} slow readers (${stopped} with their upstream still waiting): ${mb(over)} MB over idle; ` +
      Object.entries(most)
        .map(([name, bytes]) => `${name} ${mb(idle[name as 'gateway'])} → ${mb(bytes)} MB`)
        .join(', '),
  );
  expect(over).toBeLessThan(BYTES_MAX);
  for (const reader of readers) reader.leave();
  await until(() => upstream.openStreams === 0, 30_000);
  await untilNoHolds(stack.administrator, stack.tenant.accountId, 60_000);
}, 300_000);

function sum(bytes: { gateway: number; proxy: number; nats: number }): number {
  return bytes.gateway + bytes.proxy + bytes.nats;
}

function mb(bytes: number): number {
  return Math.round(bytes / 1e6);
}
