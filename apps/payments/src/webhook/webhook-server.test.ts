import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type DestinationStream, pino } from 'pino';
import { Registry } from 'prom-client';
import { event, STRIPE_KEY, STRIPE_SECRET, sendEvent } from '#testing/fake-stripe.js';
import { createPaymentsMetrics, type Outcome } from '../payments.metrics.js';
import { createStripe } from '../stripe/stripe-client.js';
import { createWebhookServer } from './webhook-server.js';

const OLD_SECRET = 'whsec_old';
const PAYLOAD = event('payment_intent.succeeded', { id: 'pi_1', object: 'payment_intent', status: 'succeeded', metadata: {} });

let server: Server;
let url: string;
let log: string[];
let booked: number;
let book: () => Promise<Outcome>;

beforeEach(async () => {
  log = [];
  booked = 0;
  book = async () => {
    booked++;
    return 'booked';
  };
  const stream: DestinationStream = { write: (line: string) => void log.push(line) };
  server = createWebhookServer({
    stripe: createStripe(STRIPE_KEY, 'http://127.0.0.1:1'),
    secrets: [STRIPE_SECRET, OLD_SECRET],
    booking: { book: () => book() },
    saveCard: async () => undefined,
    metrics: createPaymentsMetrics(new Registry()),
    logger: pino({ level: 'debug' }, stream),
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/stripe/webhook`;
});

afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

test.each([
  ['the secret', STRIPE_SECRET],
  ['the secret before it', OLD_SECRET],
])('an event that %s signed is booked before it is answered', async (_, secret) => {
  expect([await sendEvent(url, PAYLOAD, { secret }), booked]).toEqual([200, 1]);
});

test.each([
  ['another secret', { secret: 'whsec_forged' }],
  ['a signature of another body', { signed: `${PAYLOAD} ` }],
  ['a signature that is six minutes old', { ageSeconds: 360 }],
])('an event with %s gets 400, and nothing is booked', async (_, options) => {
  expect([await sendEvent(url, PAYLOAD, options), booked]).toEqual([400, 0]);
});

test('an event without a signature gets 400', async () => {
  expect((await fetch(url, { method: 'POST', body: PAYLOAD })).status).toBe(400);
});

test('an event that cannot be booked now gets 503, so that Stripe sends it again', async () => {
  book = () => Promise.reject(new Error('billing is away'));
  expect(await sendEvent(url, PAYLOAD)).toBe(503);
});

test('a body beyond the limit gets 413, other paths 404, other methods 405', async () => {
  const statuses = [
    (await fetch(url, { method: 'POST', body: 'x'.repeat(600_000) })).status,
    (await fetch(`${url}/else`, { method: 'POST' })).status,
    (await fetch(url)).status,
  ];
  expect(statuses).toEqual([413, 404, 405]);
});

test('no log line has a secret, a signature or a body', async () => {
  book = () => Promise.reject(new Error('away'));
  await sendEvent(url, event('payment_intent.succeeded', { marker: 'marker-of-body' }));
  await sendEvent(url, event('payment_intent.succeeded', { marker: 'marker-of-body' }), { secret: 'whsec_forged' });
  expect(log).toHaveLength(2);
  expect(log.join('')).not.toMatch(/marker|whsec_|v1=/);
});
