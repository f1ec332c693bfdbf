import { setTimeout as delay } from 'node:timers/promises';
import { candidateProbe, type UpstreamCheck } from '#contracts/probe.js';
import { routeStatus } from '#contracts/route-status.js';
import { DIALECT_STREAMS } from '#testing/dialect-streams.js';
import { type Fault, FaultServer, wholeReply } from '#testing/fault-server.js';
import { FaultStack, type SharedFaultStack, type UpstreamLines } from './fault-stack.js';

/** Catalog entries with addresses inside the private network. A canary listens on every address of this machine and counts requests. */
const { plain } = DIALECT_STREAMS['openai-chat'];
let stack: SharedFaultStack;
let canary: FaultServer;
let fault: Fault;

beforeAll(async () => {
  [stack, canary] = await Promise.all([FaultStack.share(), FaultServer.start((exchange) => fault(exchange), { host: '::' })]);
});
beforeEach(() => {
  fault = ({ socket }) => void socket.end(wholeReply(plain('let in')));
});
afterAll(async () => {
  await Promise.all([stack?.stop(), canary?.stop()]);
});

/** Hosts that resolve to this machine or to a metadata service. */
const LOOPBACK = ['127.0.0.1', 'localhost', '2130706433', '0177.0.0.1', '0x7f.1', '127.1', '127.0.0.1.', '[::ffff:127.0.0.1]', '①②⑦.0.0.1'];
const NEVER = [
  '0.0.0.0',
  '[::]',
  '[::ffff:0.0.0.0]',
  '169.254.169.254',
  '0xa9fea9fe',
  '[::ffff:169.254.169.254]',
  '[64:ff9b::169.254.169.254]',
  '[fd00:ec2::254]',
  '[fe80::1]',
  '100.100.100.200',
  'metadata.google.internal',
];
const PRIVATE = ['10.255.255.1', '192.168.255.1', '172.16.255.1', '[fc00::1]', '[64:ff9b::7f00:1]'];

/** Counter for new names: a gateway that lists the name has read its catalog. */
let named = 0;
function upstreamAt(host: string, allowPrivateNetwork: boolean): UpstreamLines {
  const timeouts = { connectMs: 500 };
  return { id: `ssrf-${named++}`, kind: 'openai-chat', baseUrl: `http://${host}:${canary.port}/v1`, allowPrivateNetwork, timeouts };
}

async function outcomes(hosts: string[], allowPrivateNetwork: boolean): Promise<Record<string, unknown>> {
  const upstreams = hosts.map((host) => upstreamAt(host, allowPrivateNetwork));
  await stack.offer(upstreams);
  const all = await Promise.all(
    hosts.map(async (host, index) => {
      const { status, text, requestId } = await stack.ask('chat', upstreams[index]?.id ?? '', { stream: false });
      const { costPicoUsd } = await stack.readBill(requestId);
      return [host, { status, code: JSON.parse(text).error?.code, isFree: costPicoUsd === '0' }] as const;
    }),
  );
  return Object.fromEntries(all);
}

function each(hosts: string[], outcome: unknown): Record<string, unknown> {
  return Object.fromEntries(hosts.map((host) => [host, outcome]));
}

const REFUSED = { status: 503, code: 'model_unavailable', isFree: true };

test('by default no private address is called in any notation: 503, and no charge [fault-network]', async () => {
  const hosts = [...LOOPBACK, ...NEVER, ...PRIVATE];
  expect(await outcomes(hosts, false)).toEqual(each(hosts, REFUSED));
  expect(canary.connections).toBe(0);
});

test('with allowPrivateNetwork loopback is called, but metadata and link-local addresses are not [fault-network]', async () => {
  const expected = { ...each(LOOPBACK, { status: 200, code: undefined, isFree: false }), ...each(NEVER, REFUSED) };
  expect(await outcomes([...LOOPBACK, ...NEVER], true)).toEqual(expected);
  expect(canary.requests).toBe(LOOPBACK.length);
});

test.each([301, 302, 303, 307, 308])(
  'a redirect (%i) is not followed, and its target is not disclosed [fault-redirect]',
  async (status) => {
    const before = canary.requests;
    fault = ({ socket, head }) => {
      const body = head.startsWith('POST /v1/') ? '' : plain('let in');
      const location = `http://127.0.0.1:${canary.port}/latest/meta-data`;
      socket.end(wholeReply(body, { location }, `HTTP/1.1 ${status} Moved`));
    };
    const upstream = upstreamAt('127.0.0.1', true);
    await stack.offer([upstream]);
    const answer = await stack.ask('chat', upstream.id, { stream: false });
    expect({ status: answer.status, code: JSON.parse(answer.text).error.code, asked: canary.requests - before }).toEqual({
      status: 502,
      code: 'upstream_error',
      asked: 1,
    });
    expect(answer.text).not.toMatch(/meta-data|127\.0\.0\.1/);
  },
);

describe('probes and health checks', () => {
  /** Findings of a probe about the connection and a first reply. */
  async function tested(host: string, allowPrivateNetwork: boolean): Promise<Record<string, string>> {
    const candidate = { kind: 'openai-chat' as const, baseUrl: `http://${host}:${canary.port}/v1`, allowPrivateNetwork };
    const checks: UpstreamCheck[] = [];
    for await (const events of stack.administrator.openStream(candidateProbe, { upstreamId: 'new', model: 'any', candidate })) {
      for (const event of events) if (event.type === 'check-end') checks.push(event.check);
    }
    return Object.fromEntries(checks.map(({ id, verdict, evidence }) => [id, `${verdict}: ${evidence}`]));
  }

  async function reached(hosts: string[], allowPrivateNetwork: boolean): Promise<Record<string, unknown>> {
    const all: Record<string, unknown> = {};
    for (const host of hosts) all[host] = (await tested(host, allowPrivateNetwork)).reachable?.replace(/^no: \S+ /, '');
    return all;
  }

  async function isUnhealthy(upstream: string): Promise<boolean> {
    const replies = await stack.administrator.requestEvery(routeStatus, {}, { timeoutMs: 1_000 });
    return replies.some(({ routes }) => routes.some((route) => route.upstream === upstream && !route.isHealthy));
  }

  test('a probe calls no address that a request would not call [fault-network]', async () => {
    const before = canary.connections;
    const hosts = [...LOOPBACK, ...PRIVATE];
    const cure = 'is not a public address: if it is yours, say allowPrivateNetwork: true';
    expect(await reached(hosts, false)).toEqual(each(hosts, cure));
    expect(await reached(NEVER, true)).toEqual(each(NEVER, 'may never be called'));
    expect(canary.connections - before).toBe(0);
  });

  test('a probe follows no redirect of a reply or of the list of models [fault-redirect]', async () => {
    const asked: string[] = [];
    fault = ({ socket, head }) => {
      asked.push(head.split(' ', 2).join(' '));
      socket.end(wholeReply('', { location: `http://127.0.0.1:${canary.port}/latest/meta-data` }, 'HTTP/1.1 302 Found'));
    };
    const { plain: shown } = await tested('127.0.0.1', true);
    expect({ shown, asked: [...new Set(asked)].sort() }).toEqual({
      shown: 'no: redirect (302) not followed',
      asked: ['GET /v1/models', 'POST /v1/chat/completions', 'POST /v1/embeddings'],
    });
  });

  test('health checks call no address that a request would not call, and follow no redirect [fault-redirect]', async () => {
    const asked = new Set<string>();
    fault = ({ socket, head }) => {
      asked.add(head.split(' ', 2).join(' '));
      socket.end(wholeReply('', { location: `http://127.0.0.1:${canary.port}/latest/meta-data` }, 'HTTP/1.1 302 Found'));
    };
    const checked = (host: string, allowPrivateNetwork: boolean, path: string): UpstreamLines => ({
      ...upstreamAt(host, allowPrivateNetwork),
      healthCheck: { path, intervalMs: 100 },
    });
    const upstreams = [
      ...[...LOOPBACK, ...NEVER, ...PRIVATE].map((host) => checked(host, false, '/refused')),
      ...NEVER.map((host) => checked(host, true, '/never')),
      checked('127.0.0.1', true, '/asked'),
    ];
    await stack.offer(upstreams);
    const last = upstreams.at(-1)?.id ?? '';
    // Unhealthy after the second check: by then all have been checked as often.
    while (!(await isUnhealthy(last))) await delay(50);
    expect([...asked].filter((line) => line.startsWith('GET '))).toEqual(['GET /asked']);
  });
});

test('no header of a client reaches an upstream [fault-headers]', async () => {
  let sent = '';
  fault = ({ socket, head }) => {
    // A last health check of the test before may still come.
    if (head.startsWith('POST ')) sent = head;
    socket.end(wholeReply(plain('let in')));
  };
  const upstream = upstreamAt('127.0.0.1', true);
  await stack.offer([upstream]);
  await fetch(`${stack.facts.gatewayUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${stack.tenant.apiKey}`,
      'content-type': 'application/json',
      'x-forwarded-for': '10.0.0.1',
      'x-canary': 'canary',
      cookie: 'canary=1',
      'user-agent': 'canary',
      'openai-organization': 'canary',
    },
    body: JSON.stringify({ model: upstream.id, messages: [{ role: 'user', content: 'Hi' }] }),
  });
  const names = sent
    .split('\r\n')
    .slice(1)
    .map((line) => line.split(':')[0]?.toLowerCase());
  expect(names.sort()).toEqual(['accept', 'accept-encoding', 'connection', 'content-length', 'content-type', 'host', 'user-agent']);
  expect(sent).not.toMatch(/canary|10\.0\.0\.1|live_|bearer/i);
});
