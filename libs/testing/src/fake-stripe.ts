import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Stripe } from 'stripe';

export const STRIPE_KEY = 'sk_test_marker9f27c1';
export const STRIPE_SECRET = 'whsec_marker51aa0e';

type Fields = Record<string, unknown>;
/** An object of Stripe: the fields that are used. */
type Stored = Fields & { id: string };

/** A break of a call's connection: before it works, or after, when nobody learns of it. */
export type Fault = 'before' | 'after' | undefined;

/**
 * The endpoints of Stripe's API that Tollgate calls, in memory, with its idempotency keys. What people do at Stripe is a method; each
 * returns the events that Stripe would send, as texts to be signed.
 */
export class FakeStripe {
  readonly payments = new Map<string, Stored>();
  readonly sessions = new Map<string, Stored>();
  /** Calls by method and path, without ids. */
  readonly calls: string[] = [];
  /** Decides of each call whether its connection breaks. */
  fault: (call: string) => Fault = () => undefined;
  /** State of a payment that is made without a person. */
  onCharge: () => 'succeeded' | 'declined' | 'processing' = () => 'succeeded';
  /** Called after a payment was made without a person. */
  onPayment: () => void = () => undefined;
  private readonly answers = new Map<string, { status: number; body: Fields; request: string }>();
  private readonly server: Server;

  private constructor() {
    this.server = createServer((request, response) => void this.serve(request, response));
  }

  static async start(): Promise<FakeStripe> {
    const fake = new FakeStripe();
    await new Promise<void>((resolve) => fake.server.listen(0, '127.0.0.1', resolve));
    return fake;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** Pays the page of a checkout, and returns its events in order. */
  pay(sessionId: string): string[] {
    const session = this.sessions.get(sessionId) as Stored;
    if (session.customer_creation === 'always') session.customer = `cus_${randomId()}`;
    const payment = this.newPayment({
      amount: session.amount_total,
      metadata: (session.payment_intent_data as Fields | undefined)?.metadata ?? {},
      customer: session.customer,
      payment_method: 'pm_card',
    });
    Object.assign(payment, { status: 'succeeded', amount_received: payment.amount });
    Object.assign(session, { status: 'complete', payment_status: 'paid', payment_intent: payment.id });
    return [event('payment_intent.succeeded', payment), event('checkout.session.completed', session)];
  }

  /** Makes a payment that succeeded, and returns it. */
  paid({ cents, accountId, currency = 'usd' }: { cents: number; accountId?: string; currency?: string }): Stored {
    const payment = this.newPayment({ amount: cents, currency, metadata: accountId ? { tollgate_account: accountId } : {} });
    return Object.assign(payment, { status: 'succeeded', amount_received: cents });
  }

  /** Payments of an account, oldest first. */
  listPayments(accountId: string): Stored[] {
    return [...this.payments.values()].filter(({ metadata }) => (metadata as Record<string, string>).tollgate_account === accountId);
  }

  /** Ends a payment that is processed. */
  settle(paymentId: string, status: 'succeeded' | 'requires_payment_method'): string {
    const payment = this.payments.get(paymentId) as Stored;
    if (payment.status === 'processing') Object.assign(payment, { status, amount_received: status === 'succeeded' ? payment.amount : 0 });
    return event(payment.status === 'succeeded' ? 'payment_intent.succeeded' : 'payment_intent.payment_failed', payment);
  }

  private newPayment(fields: Fields): Stored {
    const payment = { id: `pi_${randomId()}`, object: 'payment_intent', currency: 'usd', amount_received: 0, ...fields };
    this.payments.set(payment.id, payment);
    return payment;
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const [path = '', query = ''] = (request.url ?? '').split('?');
    const call = `${request.method} ${path.replace(/(pi|cs|pm|cus)_\w+/g, ':id')}`;
    this.calls.push(call);
    const fault = this.fault(call);
    if (fault === 'before') return void request.socket.destroy();
    const { status, body: reply } = this.once(request.headers['idempotency-key'], `${call} ${body}`, () =>
      request.headers.authorization === `Bearer ${STRIPE_KEY}`
        ? this.answer(call, path, parseForm(body || query))
        : failure(401, 'invalid_request_error', 'Invalid API Key provided'),
    );
    if (fault === 'after') return void request.socket.destroy();
    response.writeHead(status, { 'content-type': 'application/json', 'request-id': `req_${randomId()}` });
    response.end(JSON.stringify(reply));
  }

  /** Repeats the answer of an idempotency key, and refuses it for another request. */
  private once(key: string | string[] | undefined, request: string, work: () => { status: number; body: Fields }) {
    if (typeof key !== 'string') return work();
    const known = this.answers.get(key);
    if (known && known.request !== request) return failure(400, 'idempotency_error', 'Keys can only be used with the same parameters.');
    const answered = known ?? { ...work(), request };
    this.answers.set(key, answered);
    return answered;
  }

  private answer(call: string, path: string, fields: Fields): { status: number; body: Fields } {
    const id = /(pi|cs|pm|cus)_\w+/.exec(path)?.[0] ?? '';
    switch (call) {
      case 'POST /v1/checkout/sessions':
        return { status: 200, body: this.openSession(fields) };
      case 'POST /v1/payment_intents':
        return this.charge(fields);
      case 'GET /v1/payment_intents':
        return {
          status: 200,
          body: {
            object: 'list',
            has_more: false,
            data: [...this.payments.values()].filter(({ customer }) => customer === fields.customer),
          },
        };
      case 'GET /v1/payment_intents/:id':
        return found(this.payments.get(id));
      case 'POST /v1/payment_intents/:id/cancel':
        return this.cancel(this.payments.get(id));
      case 'GET /v1/payment_methods/:id':
        return {
          status: 200,
          body: { id, object: 'payment_method', card: { brand: 'visa', last4: '4242', exp_month: 12, exp_year: 2031 } },
        };
      default:
        return failure(404, 'invalid_request_error', `Unrecognized request URL (${call})`);
    }
  }

  private openSession(fields: Fields): Stored {
    const [item] = Object.values(fields.line_items as Record<string, { price_data: { unit_amount: string; currency: string } }>);
    const id = `cs_test_${randomId()}`;
    const session: Stored = {
      ...{
        id,
        object: 'checkout.session',
        url: 'https://checkout.stripe.com/c/pay/cs_test_a1',
        expires_at: Math.floor(Date.now() / 1000) + 86_400,
      },
      ...{ created: Math.floor(Date.now() / 1000), mode: fields.mode, status: 'open', payment_status: 'unpaid', payment_intent: null },
      ...{ amount_total: Number(item?.price_data.unit_amount), currency: item?.price_data.currency },
      ...{
        customer: fields.customer ?? null,
        customer_creation: fields.customer_creation,
        metadata: fields.metadata ?? {},
        payment_intent_data: fields.payment_intent_data,
        success_url: fields.success_url,
        cancel_url: fields.cancel_url,
      },
    };
    this.sessions.set(id, session);
    return session;
  }

  /** A payment with a stored card, without a person. */
  private charge(fields: Fields): { status: number; body: Fields } {
    const payment = this.newPayment({ ...fields, amount: Number(fields.amount) });
    const outcome = this.onCharge();
    if (outcome === 'succeeded') Object.assign(payment, { status: 'succeeded', amount_received: payment.amount });
    else payment.status = outcome === 'processing' ? 'processing' : 'requires_payment_method';
    this.onPayment();
    if (outcome !== 'declined') return { status: 200, body: payment };
    return {
      status: 402,
      body: { error: { type: 'card_error', code: 'card_declined', message: 'Your card was declined.', payment_intent: payment } },
    };
  }

  private cancel(payment: Stored | undefined): { status: number; body: Fields } {
    if (payment === undefined) return found(payment);
    if (payment.status === 'succeeded' || payment.status === 'processing')
      return failure(400, 'invalid_request_error', 'You cannot cancel this PaymentIntent.', 'payment_intent_unexpected_state');
    payment.status = 'canceled';
    return { status: 200, body: payment };
  }
}

/** The text of an event. */
export function event(type: string, object: Fields): string {
  const created = Math.floor(Date.now() / 1000);
  return JSON.stringify({ id: `evt_${randomId()}`, object: 'event', api_version: Stripe.API_VERSION, created, type, data: { object } });
}

/** A refund as Stripe reports it. */
export function refundEvent(
  payment: Fields,
  { id = `re_${randomId()}`, cents = payment.amount as number, status = 'succeeded' } = {},
): string {
  return event('refund.created', { id, object: 'refund', amount: cents, currency: payment.currency, payment_intent: payment.id, status });
}

/** Money of a dispute that was taken, or came back. */
export function disputeEvent(payment: Fields, type: 'funds_withdrawn' | 'funds_reinstated', id = `du_${randomId()}`): string {
  const { amount, currency } = payment;
  return event(`charge.dispute.${type}`, { id, object: 'dispute', amount, currency, payment_intent: payment.id });
}

/** Sends an event as Stripe does, with the signature of Stripe's own library, and returns the status. */
export async function sendEvent(
  url: string,
  payload: string,
  { secret = STRIPE_SECRET, ageSeconds = 0, signed = payload } = {},
): Promise<number> {
  const timestamp = Math.floor(Date.now() / 1000) - ageSeconds;
  const signature = new Stripe('sk_test_x').webhooks.generateTestHeaderString({ payload: signed, secret, timestamp });
  const response = await fetch(url, { method: 'POST', headers: { 'stripe-signature': signature }, body: payload });
  await response.arrayBuffer();
  return response.status;
}

function found(object: Fields | undefined): { status: number; body: Fields } {
  return object ? { status: 200, body: object } : failure(404, 'invalid_request_error', 'No such object', 'resource_missing');
}

function failure(status: number, type: string, message: string, code?: string): { status: number; body: Fields } {
  return { status, body: { error: { type, message, code } } };
}

/** Reads a form with keys such as `metadata[account]`. */
function parseForm(text: string): Fields {
  const fields: Fields = {};
  for (const [name, value] of new URLSearchParams(text)) {
    const keys = name.split(/\[|\]\[|\]/).filter(Boolean);
    const last = keys.pop() as string;
    let place = fields;
    for (const key of keys) {
      place[key] ??= {};
      place = place[key] as Fields;
    }
    place[last] = value;
  }
  return fields;
}

function randomId(): string {
  return randomBytes(12).toString('hex');
}
