import { replicaReady } from '#contracts/billing/events.js';
import { FakeMessaging } from '#testing/fake-messaging.js';
import { BillingReplicas } from './billing-replicas.js';

const [FIRST, SECOND] = ['00000000-0000-4000-8000-00000000000a', '00000000-0000-4000-8000-00000000000b'];

function replicas() {
  const messaging = new FakeMessaging();
  let now = 0;
  const subject = new BillingReplicas(messaging, () => now);
  subject.onModuleInit();
  return {
    subject,
    announce: (replicaId: string) => messaging.publish(replicaReady, { replicaId }),
    pass: (milliseconds: number) => {
      now += milliseconds;
    },
  };
}

test('the list is sorted, whatever the order of announcements', () => {
  const { subject, announce } = replicas();
  announce(SECOND);
  announce(FIRST);
  expect(subject.ids).toEqual([FIRST, SECOND]);
});

test('an announcement of a known replica changes nothing', () => {
  const { subject, announce } = replicas();
  announce(FIRST);
  const { ids } = subject;
  announce(FIRST);
  expect(subject.ids).toBe(ids);
});

test('a replica that is silent for more than 3 s is removed', () => {
  const { subject, announce, pass } = replicas();
  announce(FIRST);
  announce(SECOND);
  pass(3_000);
  announce(FIRST);
  expect(subject.ids).toEqual([FIRST, SECOND]);
  pass(1);
  announce(FIRST);
  expect(subject.ids).toEqual([FIRST]);
});

test('a forgotten replica returns with its next announcement', () => {
  const { subject, announce } = replicas();
  announce(FIRST);
  subject.forget(FIRST);
  expect(subject.ids).toEqual([]);
  announce(FIRST);
  expect(subject.ids).toEqual([FIRST]);
});
