import type { LedgerCheckListReply, LedgerCheckReply } from '#contracts/billing/ledger.js';
import type { RouteStatus, RouteStatusReply } from '#contracts/route-status.js';
import { PanelError } from '../../http/panel-error.js';
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

function warningsOf(services: FakeServices): PlatformWarnings {
  return new PlatformWarnings(services as unknown as Services);
}

const CHECKED_AT = '2027-01-01T00:00:00.000Z';
const route = (model: string, circuit: RouteStatus['circuit']): RouteStatus => ({ model, upstream: 'local', circuit }) as RouteStatus;
const replica = (...routes: RouteStatus[]): RouteStatusReply => ({ replica: 'r', catalogRevision: 1, routes, waiting: [] });

test('an open route is one warning with the number of its replicas', async () => {
  const replicas = [replica(route('a', 'open'), route('b', 'closed')), replica(route('a', 'open'), route('b', 'half-open'))];
  expect(await warningsOf(new FakeServices({ replicas })).read()).toEqual([
    { kind: 'circuit-open', model: 'a', upstream: 'local', replicas: 2 },
  ]);
});

test('violations of the last check of the ledger are a warning', async () => {
  expect(await warningsOf(new FakeServices({ violations: 3 })).read()).toEqual([
    { kind: 'ledger-violations', checkedAt: CHECKED_AT, violations: 3 },
  ]);
});

test('a service that does not answer is named, and hides no other warning', async () => {
  expect(await warningsOf(new FakeServices({ replicas: 'away', violations: 1 })).read()).toEqual([
    { kind: 'service-unavailable', service: 'inference-proxy' },
    { kind: 'ledger-violations', checkedAt: CHECKED_AT, violations: 1 },
  ]);
});

test('a second look gets the warnings of the first at once, and reads them again', async () => {
  const services = new FakeServices({ violations: 3 });
  const warnings = warningsOf(services);
  const first = await warnings.read();
  services.askEvery = () => {
    services.looks += 1;
    return new Promise(() => undefined);
  };
  expect(await warnings.read()).toBe(first);
  expect(services.looks).toBe(2);
});
