import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Stripe } from 'stripe';
import { IncomingBody } from '#network/incoming-body.js';
import type { Logger } from '#observability/logger.js';
import type { Outcome, PaymentsMetrics } from '../payments.metrics.js';
import { describeStripeError } from '../stripe/stripe-client.js';
import type { Booking } from './book-notice.js';
import { readNotice } from './notice.js';

const WEBHOOK_PATH = '/stripe/webhook';

/** An event of Stripe has a few kilobytes. */
const BODY_BYTES_MAX = 512 * 1024;
/** Limits for receiving a request, against slow and endless ones. */
const LIMITS = { headersTimeout: 10_000, requestTimeout: 20_000, connectionsCheckingInterval: 5_000, keepAliveTimeout: 5_000 };
const CONNECTIONS_MAX = 200;

interface Parts {
  /** Verifies signatures of `secrets`, any of which may have made one. */
  stripe: Pick<Stripe, 'webhooks'>;
  secrets: readonly string[];
  booking: Pick<Booking, 'book'>;
  /** Stores the card of a checkout that asked for it. */
  saveCard: (event: Stripe.Event) => Promise<void>;
  metrics: PaymentsMetrics;
  logger: Logger;
}

/** The HTTP server that Stripe sends events to. It answers 200 when what an event says is committed, so that Stripe repeats all others. */
export function createWebhookServer(parts: Parts): Server {
  const server = createServer(LIMITS, (request, response) => {
    void answer(parts, request, response).catch((error: unknown) => {
      parts.logger.error({ err: error }, 'webhook failed');
      response.destroy();
    });
  });
  server.maxConnections = CONNECTIONS_MAX;
  return server;
}

async function answer(parts: Parts, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [path] = (request.url ?? '').split('?');
  if (path !== WEBHOOK_PATH) return send(response, 404, 'There is nothing here.');
  if (request.method !== 'POST') return send(response, 405, 'Stripe posts events.');
  const body = await readBody(request);
  if (body === undefined) return send(response, 413, 'The body is too large.');
  const outcome = await handle(parts, body, request.headers['stripe-signature']);
  parts.metrics.events.inc({ outcome });
  if (outcome === 'forged') return send(response, 400, 'The signature does not fit the body, or is too old.');
  if (outcome === 'failed') return send(response, 503, 'Not booked yet. Send it again.');
  send(response, 200, outcome);
}

async function handle({ stripe, secrets, booking, saveCard, logger }: Parts, body: Buffer, signature: unknown): Promise<Outcome> {
  const event = verify(stripe, secrets, body, signature);
  if (event === undefined) {
    logger.warn('webhook refused: wrong or old signature');
    return 'forged';
  }
  try {
    const outcome = await booking.book(readNotice(event));
    await saveCard(event);
    return outcome;
  } catch (error) {
    logger.warn({ event: event.id, type: event.type, ...describeStripeError(error) }, 'event not booked: Stripe sends it again');
    return 'failed';
  }
}

/** Undefined: no secret made the signature, or it is older than the library's tolerance. */
function verify(stripe: Parts['stripe'], secrets: readonly string[], body: Buffer, signature: unknown): Stripe.Event | undefined {
  if (typeof signature !== 'string') return undefined;
  for (const secret of secrets) {
    try {
      return stripe.webhooks.constructEvent(body, signature, secret);
    } catch {
      // The next secret may fit. Its error quotes the body.
    }
  }
  return undefined;
}

/** Undefined for a body that is too large. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const body = new IncomingBody(undefined);
  for await (const chunk of request) {
    if (body.length + (chunk as Buffer).length > BODY_BYTES_MAX) return undefined;
    body.push(chunk as Buffer);
  }
  return body.take();
}

function send(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain', 'cache-control': 'no-store', ...(status === 413 && { connection: 'close' }) });
  response.end(`${text}\n`);
}
