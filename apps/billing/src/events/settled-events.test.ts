import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Topic } from '#contracts/endpoint.js';
import { createLogger } from '#observability/logger.js';
import { makeUsage } from '../../test/ledger-fixture.js';
import type { Committed } from '../batch/batch.js';
import { SettledEvents } from './settled-events.js';

const HOLD = '0190a6f0-7c1e-7000-8000-000000000004';
const logger = createLogger('test', 'silent');

/** A committed batch that has settled one hold. */
const SETTLED = {
  rows: { settled: [{ holdId: HOLD, reason: 'completed', cost: 7n, usage: makeUsage(7) }] },
  state: { holds: new Map([[HOLD, { accountId: 'a', projectId: 'p' }]]) },
} as unknown as Committed;

test('the settlements of a batch are one message, after the replies', async () => {
  const published: [string, object][] = [];
  const publish = <Event extends object>({ subject }: Topic<Event>, event: Event) => published.push([subject, event]);
  new SettledEvents({ publish: (topic, event) => void publish(topic, event) }, logger).applied(SETTLED);
  expect(published).toEqual([]);
  await nextTurn();
  const settled = [{ holdId: HOLD, accountId: 'a', projectId: 'p', reason: 'completed', costPicoUsd: '7', usage: makeUsage(7) }];
  expect(published).toEqual([['billing.v1.event.hold-settled', { settled }]]);
});

test('a failure to publish does not affect money', async () => {
  const publish = (): void => {
    throw new Error('no connection');
  };
  new SettledEvents({ publish }, logger).applied(SETTLED);
  await nextTurn();
});
