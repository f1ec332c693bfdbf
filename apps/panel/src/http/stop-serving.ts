import { once } from 'node:events';
import type { Server } from 'node:http';
import { within } from '#observability/grace.js';
import type { LiveRequests } from '../activity/live-requests.js';

/** Milliseconds between two looks for connections whose reply has ended: Node keeps them open for the next request. */
const IDLE_MS = 50;

/**
 * Accepts no more connections, ends the streams of live requests, and resolves when all other replies are sent, or after `graceMs`.
 * Closing the application then cuts off the rest.
 */
export async function stopServing(server: Server, live: LiveRequests, graceMs: number): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  live.endAll();
  const timer = setInterval(() => server.closeIdleConnections(), IDLE_MS);
  await within(graceMs, closed);
  clearInterval(timer);
}
