import { estimatedUsage, reportedUsage } from '#testing/token-usage.js';
import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { Controller, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  type HoldRenewReply,
  type HoldRenewRequest,
  holdRenew,
  holdSettle,
  type SettleOutcome,
  type SettleRequest,
} from '#contracts/billing/holds.js';
import { catalogChanged, type Route, type RouteListReply, routeList, type Upstream } from '#contracts/catalog.js';
import { type GenerateRequest, generate } from '#contracts/inference.js';
import { routeStatus } from '#contracts/route-status.js';
import type { StreamEvent } from '#inference/stream-event.js';
import { connectMessaging } from '#messaging/connect-messaging.js';
import type { Messaging } from '#messaging/messaging.js';
import { NatsTransport } from '#messaging/nats-transport.js';
import { Serves } from '#messaging/serves.js';
import { createLogger } from '#observability/logger.js';
import { leastMs } from '#testing/least-ms.js';
import { freePort, type TestNatsServer } from '#testing/nats-server.js';
import { startNatsWithUsers, TEST_NATS_PASSWORD } from '#testing/nats-with-users.js';
import { chunk, DONE, hanging, streaming, TestUpstream, USAGE_CHUNK } from '../test/test-upstream.js';
import { InferenceProxyConfig } from './inference-proxy.config.js';
import { startInferenceProxy } from './start-inference-proxy.js';

const logger = createLogger('test', 'silent');
const REPORTED = reportedUsage(12, 3);
const ESTIMATED = estimatedUsage(20, 2);

let routes: RouteListReply | Promise<RouteListReply>;
const asked = new EventEmitter();
let renew: (request: HoldRenewRequest) => string[];

/** Fakes of billing and catalog. */
@Controller()
class OthersController {
  @Serves(routeList)
  async list(): Promise<RouteListReply> {
    asked.emit('routes');
    return routes;
  }
}

@Controller()
class BillingController {
  @Serves(holdRenew)
  async renew(request: HoldRenewRequest): Promise<HoldRenewReply> {
    asked.emit('renew', request);
    return { renewed: renew(request), leaseMs: 1_200 };
  }

  @Serves(holdSettle)
  async settle(request: SettleRequest): Promise<SettleOutcome> {
    asked.emit('settle', request);
    return { status: 'settled', holdId: request.holdId, costPicoUsd: '0' };
  }
}

@Module({ controllers: [OthersController] })
class CatalogModule {}

@Module({ controllers: [BillingController] })
class BillingModule {}

let nats: TestNatsServer;
let upstream: TestUpstream;
let gateway: Messaging;
let catalog: Messaging;
let opsPort: number;
let stopProxy: () => Promise<void>;
let cleanUps: (() => Promise<unknown>)[];

beforeAll(async () => {
  nats = await startNatsWithUsers();
});

afterAll(() => nats.stop());

beforeEach(async () => {
  cleanUps = [];
  renew = ({ renewals }) => renewals.map(({ holdId }) => holdId);
  upstream = await TestUpstream.start();
  cleanUps.push(() => upstream.stop());
  routes = routesTo([upstream.definition()]);
  catalog = await serveAs('catalog', CatalogModule);
  await serveAs('billing', BillingModule);
  gateway = await connectAs('gateway');
  opsPort = await freePort();
  stopProxy = await startProxy(opsPort);
});

afterEach(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
});

function routesTo(upstreams: Upstream[], revision = 1): RouteListReply {
  const models = upstreams.map(({ id }) => ({ id: `${id}-model`, routes: [{ upstream: id, model: 'm', weight: 1, priority: 0 }] }));
  return { revision, upstreams, models };
}

async function connectAs(user: string): Promise<Messaging> {
  const messaging = await connectMessaging({ url: nats.url, user, password: TEST_NATS_PASSWORD, service: user, logger });
  cleanUps.push(() => messaging.close());
  return messaging;
}

async function serveAs(user: string, module: new () => object): Promise<Messaging> {
  const messaging = await connectMessaging({ url: nats.url, user, password: TEST_NATS_PASSWORD, service: user, logger });
  const strategy = new NatsTransport({ messaging, name: user, description: user, logger });
  const app = await NestFactory.createMicroservice(module, { strategy, logger: false });
  await app.listen();
  cleanUps.push(async () => {
    await app.close();
    await messaging.close();
  });
  return messaging;
}

async function startProxy(opsPort: number): Promise<() => Promise<void>> {
  const config = Object.assign(new InferenceProxyConfig(), {
    natsUrl: nats.url,
    natsUser: 'inference-proxy',
    natsPassword: TEST_NATS_PASSWORD,
    opsPort,
    settleAfterAbortMs: 50,
  });
  let stopped: Promise<void> | undefined;
  const stopOnce = await startInferenceProxy(config, logger);
  const stop = () => {
    stopped ??= stopOnce();
    return stopped;
  };
  cleanUps.push(stop);
  while ((await fetch(`http://127.0.0.1:${opsPort}/readyz`)).status !== 200) await new Promise(setImmediate);
  return stop;
}

function job(model = 'test-model'): GenerateRequest {
  return {
    ticket: {
      holdId: randomUUID(),
      accountId: randomUUID(),
      requestId: 'req_1',
      outputTokensMax: 100,
      promptTokensEstimate: 20,
      leaseMs: 1_200,
    },
    request: {
      model,
      turns: [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }],
      tools: [],
      output: { kind: 'text' },
      stream: true,
      hints: {},
    },
  };
}

async function collect(stream: AsyncIterable<readonly StreamEvent[]>): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  for await (const batch of stream) events.push(...batch);
  return events;
}

test('a reply comes back over NATS', async () => {
  upstream.behave(streaming(chunk('Hello'), chunk('', 'stop'), USAGE_CHUNK, DONE));
  expect(await collect(gateway.openStream(generate, job()))).toEqual([
    { type: 'upstream-start', upstream: 'test' },
    { type: 'text-delta', text: 'Hello' },
    { type: 'usage-report', usage: REPORTED },
    { type: 'completion-finish', reason: 'stop' },
  ]);
});

test('a faulty ticket is refused', async () => {
  const { ticket, request } = job();
  await expect(collect(gateway.openStream(generate, { ticket: { ...ticket, holdId: 'x' }, request }))).rejects.toMatchObject({
    code: 'invalid_request',
    param: 'ticket.holdId',
  });
});

test('a cancel reaches the upstream within 250 ms, and the reader still gets the meter', async () => {
  upstream.behave(hanging(chunk('Hello')));
  const cancel = async (): Promise<number> => {
    const arriving = upstream.nextRequest();
    const stream = gateway.openStream(generate, job());
    const batches = stream[Symbol.asyncIterator]();
    const events = [...(await batches.next()).value];
    const closed = once((await arriving).socket, 'close');
    const cancelledAt = performance.now();
    stream.cancel();
    await closed;
    const tookMs = performance.now() - cancelledAt;
    for (let next = await batches.next(); !next.done; next = await batches.next()) events.push(...next.value);
    expect(events).toEqual([
      { type: 'upstream-start', upstream: 'test' },
      { type: 'text-delta', text: 'Hello' },
      { type: 'usage-report', usage: ESTIMATED },
    ]);
    return tookMs;
  };
  expect(await leastMs(250, cancel)).toBeLessThan(250);
});

test('a gateway that is gone: the upstream is given up and the proxy settles', async () => {
  upstream.behave(hanging(chunk('Hello')));
  const dying = await connectMessaging({ url: nats.url, user: 'gateway', password: TEST_NATS_PASSWORD, service: 'gateway', logger });
  const work = job();
  const arriving = upstream.nextRequest();
  const settled = once(asked, 'settle') as Promise<[SettleRequest]>;
  const batches = dying.openStream(generate, work)[Symbol.asyncIterator]();
  await batches.next();
  const closed = once((await arriving).socket, 'close');
  await dying.link.connection.close(); // like a process that dies
  await closed;
  const { holdId, accountId } = work.ticket;
  const settle = { holdId, accountId, reason: 'client-disconnected', usage: ESTIMATED, upstream: 'test', settledBy: 'inference-proxy' };
  expect((await settled)[0]).toEqual(settle);
});

test('a running request renews its hold with a reading, and stops when the hold is gone', async () => {
  upstream.behave(hanging(chunk('Hello')));
  const work = job();
  const renewals = once(asked, 'renew') as Promise<[HoldRenewRequest]>;
  const events = collect(gateway.openStream(generate, work));
  const [request] = await renewals;
  expect(request).toEqual({ renewals: [{ holdId: work.ticket.holdId, sequence: 1, usage: ESTIMATED }] });
  renew = () => [];
  expect((await events).slice(-2)).toEqual([
    { type: 'usage-report', usage: ESTIMATED },
    expect.objectContaining({ type: 'completion-failure', code: 'model_unavailable' }),
  ]);
});

test('an announced catalog is used at once', async () => {
  upstream.behave(streaming(chunk('Hello', 'stop'), DONE));
  routes = routesTo([upstream.definition(), upstream.definition({ id: 'new' })], 2);
  catalog.publish(catalogChanged, { revision: 2 });
  let first: StreamEvent | undefined;
  while (first?.type !== 'upstream-start') [first] = await collect(gateway.openStream(generate, job('new-model')));
  expect(first).toEqual({ type: 'upstream-start', upstream: 'new' });
});

test('a replica takes no request before it knows its routes', async () => {
  upstream.behave(streaming(chunk('Hello', 'stop'), DONE));
  const known = routes;
  let answer = (): void => {};
  routes = new Promise((resolve) => {
    answer = () => resolve(known);
  });
  const hasAsked = once(asked, 'routes');
  const starting = startProxy(await freePort());
  await hasAsked;
  await stopProxy();
  await expect(collect(gateway.openStream(generate, job()))).rejects.toMatchObject({ kind: 'unavailable' });
  answer();
  await starting;
  expect((await collect(gateway.openStream(generate, job()))).at(-1)).toMatchObject({ type: 'completion-finish' });
});

test('two replicas share the concurrencyMax of a route: no more calls run at once, also while the second one joins', async () => {
  let running = 0;
  let most = 0;
  upstream.behave(async (_request, response) => {
    running += 1;
    most = Math.max(most, running);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(chunk('Hel'));
    await once(asked, 'go on');
    running -= 1; // before the end reaches the proxy, which may then start another call
    response.end(`${chunk('lo', 'stop')}${DONE}`);
  });
  const limited = routesTo([upstream.definition({ id: 'limited' })], 2);
  routes = {
    ...limited,
    models: limited.models.map(({ id, routes: [route] }) => ({ id, routes: [{ ...route, concurrencyMax: 4 } as Route] })),
  };
  catalog.publish(catalogChanged, { revision: 2 });
  const cli = await connectAs('cli');
  const untilShares = async (...shares: number[]): Promise<void> => {
    for (let seen: unknown; seen !== `${shares}`; ) {
      const replicas = await cli.requestEvery(routeStatus, {});
      seen = `${replicas.map(({ routes: [route] }) => route?.concurrencyMax).sort()}`;
    }
  };
  const ask = (count: number) => Array.from({ length: count }, () => collect(gateway.openStream(generate, job('limited-model'))));

  await untilShares(4);
  const first = ask(4);
  while (running < 4) await new Promise(setImmediate);
  await startProxy(await freePort());
  await untilShares(0, 2);
  const all = Promise.all([...first, ...ask(8)]);
  const going = setInterval(() => asked.emit('go on'), 20);
  const ends = (await all).map((events) => events.at(-1)?.type);
  await untilShares(2, 2);
  clearInterval(going);
  expect({ most, ends }).toEqual({ most: 4, ends: Array(12).fill('completion-finish') });
});

test('a stop waits for what runs, and takes nothing new', async () => {
  upstream.behave(async (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(chunk('Hel'));
    await once(asked, 'go on');
    response.end(`${chunk('lo', 'stop')}${DONE}`);
  });
  const batches = gateway.openStream(generate, job())[Symbol.asyncIterator]();
  await batches.next();
  const stopping = stopProxy();
  while ((await fetch(`http://127.0.0.1:${opsPort}/readyz`)).status !== 503) await new Promise(setImmediate);
  asked.emit('go on');
  const rest: StreamEvent[] = [];
  for (let next = await batches.next(); !next.done; next = await batches.next()) rest.push(...next.value);
  expect(rest.at(-1)).toEqual({ type: 'completion-finish', reason: 'stop' });
  await stopping;
});
