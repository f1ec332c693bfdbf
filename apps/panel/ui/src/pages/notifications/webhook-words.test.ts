import type { Webhook } from '../../../../src/shapes/billing.js';
import { describeWebhook, splitUrl } from './webhook-words.js';

const webhook: Webhook = {
  webhookId: '0190a6f0-7c1e-7000-8000-0000000000e1',
  accountId: '0190a6f0-7c1e-7000-8000-00000000000a',
  url: 'https://hooks.example.com/acme',
  format: 'json',
  allowPrivateNetwork: false,
  previousSecretUntil: null,
  createdAt: '2027-01-01T00:00:00.000Z',
  mutedAt: null,
  undelivered: 0,
  failure: null,
  deadLetters: 0,
  deadSince: null,
};

test.each<[Partial<Webhook>, object]>([
  [{}, { state: 'Working', tone: 'good', more: null }],
  [{ undelivered: 1 }, { state: 'Working', tone: 'good', more: '1 event waiting' }],
  [
    { undelivered: 2, failure: 'status 500' },
    { state: 'Failing', tone: 'bad', more: 'status 500 · 2 events waiting' },
  ],
  [{ deadLetters: 3 }, { state: 'Events given up', tone: 'warn', more: '3 events given up' }],
  [
    { mutedAt: '2027-01-02T00:00:00.000Z', failure: 'status 500' },
    { state: 'Muted', tone: 'neutral', more: null },
  ],
])('the state of a webhook with %j', (fields, words) => {
  expect(describeWebhook({ ...webhook, ...fields })).toEqual(words);
});

test('without a mail server a mail does not work', () => {
  const words = { state: 'No mail server', tone: 'bad', more: 'the panel needs SMTP_URL' };
  expect(describeWebhook({ ...webhook, format: 'mail' }, false)).toEqual(words);
  expect(describeWebhook(webhook, false).state).toBe('Working');
});

test('a URL is its host and the rest', () => {
  expect(splitUrl('https://hooks.example.com:8443/acme?team=web')).toEqual({ host: 'hooks.example.com:8443', path: '/acme?team=web' });
});

test('the URL of a mail is its address', () => {
  expect(splitUrl('mailto:ada@example.com')).toEqual({ host: 'ada@example.com', path: 'by mail' });
});

test('a URL whose path is hidden stays readable', () => {
  expect(splitUrl('https://hooks.example.com/…')).toEqual({ host: 'hooks.example.com', path: '/…' });
});
