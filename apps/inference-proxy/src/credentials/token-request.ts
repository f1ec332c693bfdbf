import type { IncomingHttpHeaders } from 'node:http';
import type { Upstream } from '#contracts/catalog.js';
import { assertHostAllowed } from '#network/address-guard.js';
import { ConnectionFault } from '../failures/connection-fault.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import { GrowingBuffer } from '../transport/growing-buffer.js';
import { createUpstreamPool } from '../transport/upstream-pool.js';
import { noCredential } from './credential.js';

/** Milliseconds to a whole answer, or `firstByteMs` if that is less. Calls wait for it only while there is no token. */
const ANSWER_MS_MAX = 10_000;
const ANSWER_BYTES_MAX = 64 * 1024;

export interface TokenRequest {
  url: string;
  headers?: Record<string, string>;
  /** A form, or JSON. Absent: the request is a GET. */
  body?: URLSearchParams | object;
  /** True for a metadata service that the operator has allowed: it is on a link-local address, and never behind a proxy. */
  isMetadata?: boolean;
}

export interface TokenAnswer {
  /** Host that answered, for messages. */
  host: string;
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

/**
 * Asks a token endpoint, by the address rules, the forward proxy and the TLS rules of upstreams. Follows no redirect. Throws `credential`
 * failures, in our own words.
 */
export async function askForToken(upstream: Upstream, request: TokenRequest): Promise<TokenAnswer> {
  const url = new URL(request.url);
  const { host } = url;
  const place = {
    ...upstream,
    ...{ baseUrl: url.origin, tls: null, connectionsMax: 1 },
    ...(request.isMetadata && { proxy: 'off', allowPrivateNetwork: true }),
  };
  const answerMs = Math.min(ANSWER_MS_MAX, upstream.timeouts.firstByteMs);
  const late = AbortSignal.timeout(answerMs);
  const pool = createUpstreamPool(place);
  try {
    if (!request.isMetadata) assertHostAllowed(url.hostname, upstream.allowPrivateNetwork);
    const { statusCode, headers, body } = await pool.request({
      method: request.body === undefined ? 'GET' : 'POST',
      path: url.pathname + url.search,
      headers: { 'user-agent': 'tollgate', ...render(request), 'accept-encoding': 'identity', ...request.headers },
      body: request.body instanceof URLSearchParams ? request.body.toString() : request.body && JSON.stringify(request.body),
      signal: late,
    });
    const text = new GrowingBuffer();
    for await (const chunk of body as AsyncIterable<Buffer>) {
      text.push(chunk);
      if (text.length > ANSWER_BYTES_MAX) throw noCredential(`${host} answers with more than ${ANSWER_BYTES_MAX} bytes`);
    }
    return { host, status: statusCode, headers, text: text.take().toString() };
  } catch (error) {
    if (error instanceof UpstreamFailure) throw error;
    if (late.aborted) throw noCredential(`${host} has not answered within ${answerMs} ms`, { isPassing: true });
    throw noCredential(explain(host, error as NodeJS.ErrnoException), { isPassing: isPassing(error), cause: error });
  } finally {
    pool.destroy().catch(() => {});
  }
}

function render({ body }: TokenRequest): Record<string, string> {
  const accept = { accept: 'application/json' };
  if (body === undefined) return accept;
  return { ...accept, 'content-type': body instanceof URLSearchParams ? 'application/x-www-form-urlencoded' : 'application/json' };
}

function explain(host: string, error: NodeJS.ErrnoException): string {
  if (error instanceof ConnectionFault || error.code === 'ADDRESS_REFUSED') return error.message;
  if (error.code === 'ENOTFOUND') return `no name server knows ${host}`;
  return `${host} cannot be reached (${error.code ?? 'unknown'})`;
}

function isPassing(error: unknown): boolean {
  if (error instanceof ConnectionFault) return !error.isOperatorsFault;
  return (error as NodeJS.ErrnoException).code !== 'ADDRESS_REFUSED';
}
