import { setTimeout as delay } from 'node:timers/promises';
import { UPSTREAM_KINDS } from '#contracts/catalog.js';
import { type Fault, FaultServer } from '#testing/fault-server.js';
import { freePort } from '#testing/nats-server.js';
import { untilNoHolds } from '#testing/tenant.js';
import { contents, fragments, framing, type Row, whole } from '../../apps/inference-proxy/test/upstream-faults.js';
import { CLIENT_FORMATS, type FormatName } from '../chaos/client-format.js';
import { FaultStack, type UpstreamLines } from './fault-stack.js';
import { HeapInspector, inspectedOn } from './heap-inspector.js';
import { FloodingUpstream, SlowReader, until } from './slow-readers.js';

/**
 * Streams for an hour (`CHURN_MINUTES`): complete, abandoned, broken in every way, and with slow readers. The heaps do not grow.
 */
const MINUTES = Number(process.env.CHURN_MINUTES ?? 60);
const SAMPLES = 30;
const AT_ONCE = 24;
/** Growth of live bytes from the second third of the run to the last. */
const GROWTH_BYTES_MAX = 8_000_000;
const FORMATS = Object.keys(CLIENT_FORMATS) as FormatName[];
const KINDS = UPSTREAM_KINDS;
type Kind = (typeof KINDS)[number];
const ROWS: Row[] = [...framing, ...contents];
const SERVICES = ['gateway', 'inference-proxy', 'billing'] as const;

let stack: FaultStack;
let server: FaultServer;
let heaps: HeapInspector[] = [];
const flooding = new FloodingUpstream(1_000, 256 * 1024);
const done = { whole: 0, left: 0, broken: 0, slow: 0 };

/** The path selects the behaviour: a dialect, and a valid reply, a flood, or the number of a fault. */
const behave: Fault = (exchange) => {
  const [, kind = 'openai-chat', what = 'good'] = /^POST \/([a-z-]+)\/(\w+)\//.exec(exchange.head) ?? [];
  const dialect = fragments(kind as Kind);
  if (what === 'flood') return flooding.fault(exchange);
  if (what === 'good') return void exchange.socket.write(whole(dialect.good));
  return (ROWS[Number(what)] as Row)[1](dialect)(exchange);
};

beforeAll(async () => {
  const ports = await Promise.all(SERVICES.map(() => freePort()));
  const inspected = SERVICES.map((service, index) => [service, inspectedOn(ports[index] ?? 0)] as const);
  const settings = { layout: 'split' as const, env: { LOG_LEVEL: 'silent' }, serviceEnv: Object.fromEntries(inspected) };
  [stack, server] = await Promise.all([FaultStack.start(settings), FaultServer.start(behave)]);
  heaps = await Promise.all(ports.map((port) => HeapInspector.connect(port)));
  const upstream = (kind: Kind, what: string | number): UpstreamLines => ({
    id: `${kind}-${what}`,
    kind,
    baseUrl: `http://127.0.0.1:${server.port}/${kind}/${what}`,
    allowPrivateNetwork: true,
  });
  await stack.offer([
    ...KINDS.map((kind) => upstream(kind, 'good')),
    upstream('openai-chat', 'flood'),
    ...ROWS.map((_, index) => upstream(pickKind(index), index)),
  ]);
}, 120_000);
afterAll(async () => {
  for (const heap of heaps) heap.close();
  await Promise.all([stack?.stop(), server?.stop()]);
}, 60_000);

function pickKind(index: number): Kind {
  return KINDS[index % KINDS.length] as Kind;
}

async function one(turn: number): Promise<void> {
  const format = FORMATS[turn % FORMATS.length] as FormatName;
  const kind = pickKind(Math.floor(turn / 3));
  switch (turn % 4) {
    case 0:
    case 1:
      await stack.ask(format, `${kind}-good`, { stream: turn % 8 < 6 });
      done.whole++;
      return;
    case 2: {
      const index = turn % ROWS.length;
      await stack.ask(format, `${pickKind(index)}-${index}`);
      done.broken++;
      return;
    }
    default: {
      const reader = await SlowReader.open(stack, 'openai-chat-flood', 1_000_000, format);
      await delay(turn % 40 === 3 ? 500 : 0);
      reader.leave();
      done[turn % 40 === 3 ? 'slow' : 'left']++;
    }
  }
}

test(
  `${MINUTES} minutes of streams that come and go leave the heaps as they were`,
  async () => {
    const endsAt = performance.now() + MINUTES * 60_000;
    const samples: number[][] = SERVICES.map(() => []);
    let turn = 0;
    const work = async (): Promise<void> => {
      while (performance.now() < endsAt) await one(turn++);
    };
    const watch = async (): Promise<void> => {
      for (let sample = 0; sample < SAMPLES; sample++) {
        await delay((MINUTES * 60_000) / SAMPLES);
        for (const [index, heap] of heaps.entries()) samples[index]?.push(await heap.liveBytes());
      }
    };
    await Promise.all([watch(), ...Array.from({ length: AT_ONCE }, work)]);
    const growth = SERVICES.map((service, index) => ({ service, bytes: measureGrowth(samples[index] ?? []) }));
    const summary = growth.map(
      ({ service, bytes }, index) => `${service} ${samples[index]?.map(mb).join(' ')} (${mb(bytes)} more at the end)`,
    );
    console.log(`${JSON.stringify(done)} in ${MINUTES} minutes; MB alive: ${summary.join('; ')}`);
    expect(growth.filter(({ bytes }) => bytes > GROWTH_BYTES_MAX)).toEqual([]);
    await until(() => flooding.openStreams === 0, 30_000);
    await untilNoHolds(stack.administrator, stack.tenant.accountId, 30_000);
  },
  (MINUTES + 3) * 60_000,
);

/** Growth between the medians of the second and the last third. In the first third caches fill and code is compiled. */
function measureGrowth(samples: number[]): number {
  const third = Math.floor(samples.length / 3);
  return median(samples.slice(2 * third)) - median(samples.slice(third, 2 * third));
}

function median(values: number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function mb(bytes: number): number {
  return Math.round(bytes / 1e5) / 10;
}
