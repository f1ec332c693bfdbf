import type { LedgerCheckListReply, LedgerCheckReply } from '#contracts/billing/ledger.js';
import type { RouteStatus, RouteStatusReply } from '#contracts/route-status.js';
import { PanelError } from '../../errors/panel-error.js';
import type { Services } from '../../services/services.js';
import { PlatformWarnings } from './platform-warnings.js';

/** Services that answer with these, or not at all. */
class FakeServices {
  looks = 0;

  constructor(private readonly answers: { replicas?: RouteStatusReply[] | 'away'; violations?: number }) {}

  askEvery = (): Promise<RouteStatusReply[]> => {
    this.looks += 1;
    const { replicas = [] } = this.answers;
    return replicas === 'away' ? Promise.reject(new PanelError('unavailable', 'No answer.')) : Promise.resolve(replicas);
  };

  ask = (): Promise<LedgerCheckListReply> => {
    const check = { checkedAt: CHECKED_AT, invariants: [{ id: 'I1', rule: '', violations: this.answers.violations ?? 0 }] };
    return Promise.resolve({ checks: [check as LedgerCheckReply], frozen: [] });
  };
}

function makeWarnings(services: FakeServices): PlatformWarnings {
  return new PlatformWarnings(services as unknown as Services);
}

const CHECKED_AT = '2027-01-01T00:00:00.000Z';
const UNREACHABLE = { kind: 'unreachable', code: 'model_unavailable', detail: 'ECONNREFUSED', isOperatorsFault: false };
const route = (model: string, circuit: RouteStatus['circuit'], upstream = 'local', agoMs?: number): RouteStatus => {
  const lastFailure = agoMs === undefined ? null : { ...UNREACHABLE, agoMs };
  return { model, upstream, circuit, cooldownMs: circuit === 'open' ? 400 : 0, isHealthy: true, lastFailure } as RouteStatus;
};
const replica = (...routes: RouteStatus[]): RouteStatusReply => ({ replica: 'r', catalogRevision: 1, routes, waiting: [] });

test('a model that no route serves is a warning with its last failure and its advice [money-upstream-state]', async () => {
  const replicas = [
    replica(route('a', 'half-open', 'local', 9_000), route('b', 'closed')),
    replica(route('a', 'open', 'hosted', 5_000), route('b', 'half-open')),
  ];
  const advice = 'No connection. Check that the upstream is running, and its baseUrl, tls and allowPrivateNetwork.';
  expect(await makeWarnings(new FakeServices({ replicas })).read()).toEqual([
    { kind: 'model-down', model: 'a', upstreams: ['local', 'hosted'], detail: 'ECONNREFUSED', failedAgoMs: 5_000, advice },
  ]);
});

test('a model that nothing called since its outage is no warning', async () => {
  const replicas = [replica(route('a', 'half-open', 'local', 3_600_000))];
  expect(await makeWarnings(new FakeServices({ replicas })).read()).toEqual([]);
});

test('a model whose upstreams are all disabled is a warning', async () => {
  const replicas = [{ ...replica(), withoutRoute: ['a'] }];
  const advice = 'All its routes lead to disabled upstreams. Enable one in the catalog.';
  expect(await makeWarnings(new FakeServices({ replicas })).read()).toEqual([
    { kind: 'model-down', model: 'a', upstreams: [], detail: null, failedAgoMs: null, advice },
  ]);
});

test('a route that is down beside one that serves is one warning with the number of its replicas', async () => {
  const routes = [route('a', 'open'), route('a', 'closed', 'hosted')];
  expect(await makeWarnings(new FakeServices({ replicas: [replica(...routes), replica(...routes)] })).read()).toEqual([
    { kind: 'route-down', model: 'a', upstream: 'local', replicas: 2 },
  ]);
});

test('a customer learns of models that are not available, without upstreams, and does not wait', async () => {
  const replicas = [replica(route('a', 'open', 'local', 5_000), route('b', 'open'), route('b', 'closed', 'hosted'))];
  const warnings = makeWarnings(new FakeServices({ replicas, violations: 1 }));
  expect(warnings.modelsDown()).toEqual([]);
  await warnings.read();
  expect(warnings.modelsDown()).toEqual([
    { kind: 'model-down', model: 'a', upstreams: null, detail: null, failedAgoMs: null, advice: null },
  ]);
});

test('violations of the last check of the ledger are a warning', async () => {
  expect(await makeWarnings(new FakeServices({ violations: 3 })).read()).toEqual([
    { kind: 'ledger-violations', checkedAt: CHECKED_AT, violations: 3 },
  ]);
});

test('a service that does not answer is named, and hides no other warning', async () => {
  expect(await makeWarnings(new FakeServices({ replicas: 'away', violations: 1 })).read()).toEqual([
    { kind: 'service-unavailable', service: 'inference-proxy' },
    { kind: 'ledger-violations', checkedAt: CHECKED_AT, violations: 1 },
  ]);
});

test('a second look gets the warnings of the first at once, and reads them again', async () => {
  const services = new FakeServices({ violations: 3 });
  const warnings = makeWarnings(services);
  const first = await warnings.read();
  services.askEvery = () => {
    services.looks += 1;
    return new Promise(() => undefined);
  };
  expect(await warnings.read()).toBe(first);
  expect(services.looks).toBe(2);
});
