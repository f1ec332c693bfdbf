import { setTimeout as delay } from 'node:timers/promises';
import type { FaultServer } from '#testing/fault-server.js';
import { freePort } from '#testing/nats-server.js';
import { untilNoHolds } from '#testing/tenant.js';
import type { FaultStack } from './fault-stack.js';
import { HeapInspector, inspectedOn } from './heap-inspector.js';
import { FloodingUpstream, SlowReader, startFlood, until } from './slow-readers.js';

/**
 * Slow clients: the upstream waits for them, buffers stay bounded, and a client that reads nothing is disconnected and billed. The kernel
 * buffers some megabytes for each connection.
 */
const DRAIN_MS = 2_000;
const MIB = 1024 * 1024;
const KERNEL_BYTES_MAX = 48 * MIB;
const READERS = 200;
/** Live bytes of a process for one of them, objects included. They measured 52 and 310 KiB; a whole reply has 512 KiB. */
const READER_BYTES_MAX = { gateway: 128 * 1024, proxy: 448 * 1024 };

let stack: FaultStack;
let server: FaultServer;
let gateway: HeapInspector;
let proxy: HeapInspector;

beforeAll(async () => {
  const [gatewayPort, proxyPort] = await Promise.all([freePort(), freePort()]);
  ({ stack, server } = await startFlood(DRAIN_MS, { gateway: inspectedOn(gatewayPort), 'inference-proxy': inspectedOn(proxyPort) }));
  [gateway, proxy] = await Promise.all([HeapInspector.connect(gatewayPort), HeapInspector.connect(proxyPort)]);
});
afterAll(async () => {
  gateway?.close();
  proxy?.close();
  await Promise.all([stack?.stop(), server?.stop()]);
});

/** Live bytes of the processes that a stream passes through. */
async function liveBytes(): Promise<{ gateway: number; proxy: number }> {
  const [ofGateway, ofProxy] = await Promise.all([gateway.liveBytes(), proxy.liveBytes()]);
  return { gateway: ofGateway, proxy: ofProxy };
}

function flood(textBytesMax: number): FloodingUpstream {
  const upstream = new FloodingUpstream(1_000, textBytesMax);
  server.behave(upstream.fault);
  return upstream;
}

test('a client that reads nothing stops its upstream, is disconnected, and pays for the received content', async () => {
  const upstream = flood(1_000 * MIB);
  const reader = await SlowReader.open(stack, 'flood', 20_000_000);
  const openedAt = performance.now();
  await until(() => upstream.openStreams === 0, DRAIN_MS + 10_000);
  const [{ bytes = 0, closedAt = 0 } = {}] = upstream.streams;
  expect(closedAt - openedAt).toBeGreaterThan(DRAIN_MS - 100);
  expect(bytes).toBeLessThan(KERNEL_BYTES_MAX);
  await untilNoHolds(stack.administrator, stack.tenant.accountId);
  const { reason, usage } = await stack.readBill(reader.requestId);
  const { promptSource, outputSource } = usage;
  expect({ reason, promptSource, outputSource }).toEqual({
    reason: 'client-disconnected',
    promptSource: 'estimated',
    outputSource: 'counted',
  });
  // Received content is more than the client has read, and less than the upstream has written.
  expect(usage.outputTokens * 4).toBeGreaterThan(reader.received / 2);
  expect(usage.outputTokens * 4).toBeLessThan(bytes);
  reader.leave();
});

test('a client that reads a little now and then gets the whole reply', async () => {
  const upstream = flood(24 * MIB);
  const reader = await SlowReader.open(stack, 'flood', 20_000_000);
  for (const until = performance.now() + 2 * DRAIN_MS; performance.now() < until; await delay(100)) reader.sip(256 * 1024);
  expect({ closedAt: reader.closedAt, upstream: upstream.openStreams }).toEqual({ closedAt: undefined, upstream: 1 });
  await reader.drink();
  expect(reader.isWhole).toBe(true);
  expect(reader.received).toBeGreaterThan(upstream.textBytesMax);
  expect(await stack.readBill(reader.requestId)).toMatchObject({ reason: 'completed' });
});

test(`${READERS} slow readers: what a process keeps for each is bounded, and each is billed once`, async () => {
  const upstream = flood(512 * 1024);
  // As many fast readers first: a used process has more objects than a new one.
  await Promise.all(Array.from({ length: READERS }, () => stack.ask('chat', 'flood', { outputTokensMax: 1_000_000 })));
  const before = await liveBytes();
  const readers = await Promise.all(Array.from({ length: READERS }, () => SlowReader.open(stack, 'flood', 1_000_000)));
  await delay(500);
  const after = await liveBytes();
  for (const process of ['gateway', 'proxy'] as const)
    expect(after[process] - before[process]).toBeLessThan(READERS * READER_BYTES_MAX[process]);
  for (const reader of readers) reader.leave();
  await until(() => upstream.openStreams === 0, 10_000);
  await untilNoHolds(stack.administrator, stack.tenant.accountId);
  for (const { requestId } of readers) expect(BigInt((await stack.readBill(requestId)).costPicoUsd)).toBeGreaterThan(0n);
});
