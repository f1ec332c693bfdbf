import { Agent, buildConnector, request } from 'undici';
import { VERSION } from '#config/version.js';
import { assertHostAllowed, guardedLookup, type Resolver } from '#network/address-guard.js';
import { type ForwardProxies, NO_FORWARD_PROXIES } from '#network/forward-proxy/forward-proxies.js';
import { judgeByAddress } from '#network/forward-proxy/judge-destination.js';
import { ProxyFault } from '#network/forward-proxy/proxy-fault.js';
import { proxyingConnector } from '#network/forward-proxy/proxying-connector.js';

/** The outcome of a message: `status 204`, or why there was no status. */
export interface WebhookAnswer {
  /** True for a status of 2xx. */
  accepted: boolean;
  answer: string;
  milliseconds: number;
}

/** A message to one webhook. */
export interface WebhookMessage {
  url: string;
  allowPrivateNetwork: boolean;
  headers: Record<string, string>;
  body: string;
}

const SEND_TIMEOUT_MS = 10_000;
const CONNECT_TIMEOUT_MS = 5_000;
const HEADER_BYTES_MAX = 16 * 1024;
/** Bytes of a reply that are read to use the connection again. After a longer or slower reply it is closed. */
const REPLY_BYTES_MAX = 16 * 1024;
const REPLY_TIMEOUT_MS = 1_000;
const FAILURE_LENGTH_MAX = 200;

interface WebhookClientOptions {
  timeoutMs?: number;
  proxies?: ForwardProxies;
  resolve?: Resolver;
}

/**
 * Sends messages to webhooks: to allowed addresses only, without redirects, and with verified certificates. A forward proxy is asked for the
 * address that was judged, because the URL is a customer's and the proxy may reach more than we would.
 */
export class WebhookClient {
  private readonly timeoutMs: number;
  private readonly agents: Record<'guarded' | 'private', Agent>;

  constructor({ timeoutMs = SEND_TIMEOUT_MS, proxies = NO_FORWARD_PROXIES, resolve }: WebhookClientOptions = {}) {
    this.timeoutMs = timeoutMs;
    this.agents = { guarded: newAgent(false, proxies, resolve), private: newAgent(true, proxies, resolve) };
  }

  /** Sends a message once and returns the answer. Never throws. The body of the reply is dropped. */
  async send(message: WebhookMessage): Promise<WebhookAnswer> {
    const start = performance.now();
    const outcome = await this.post(message);
    return { ...outcome, milliseconds: Math.round(performance.now() - start) };
  }

  async close(): Promise<void> {
    await Promise.all([this.agents.guarded.destroy(), this.agents.private.destroy()]);
  }

  private async post({ url, allowPrivateNetwork, headers, body }: WebhookMessage): Promise<Omit<WebhookAnswer, 'milliseconds'>> {
    try {
      assertHostAllowed(new URL(url).hostname, allowPrivateNetwork);
      const { statusCode, body: reply } = await request(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'user-agent': `tollgate/${VERSION}`, ...headers },
        body,
        dispatcher: allowPrivateNetwork ? this.agents.private : this.agents.guarded,
        signal: AbortSignal.timeout(this.timeoutMs),
      });
      reply.dump({ limit: REPLY_BYTES_MAX, signal: AbortSignal.timeout(REPLY_TIMEOUT_MS) }).catch(() => reply.destroy());
      return { accepted: statusCode >= 200 && statusCode < 300, answer: `status ${statusCode}` };
    } catch (error) {
      return { accepted: false, answer: describeFailure(error as Error).slice(0, FAILURE_LENGTH_MAX) };
    }
  }
}

function newAgent(allowPrivateNetwork: boolean, proxies: ForwardProxies, resolve?: Resolver): Agent {
  const direct = buildConnector({
    lookup: guardedLookup(allowPrivateNetwork, resolve),
    timeout: CONNECT_TIMEOUT_MS,
    allowH2: false,
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
  });
  return new Agent({
    connect: proxyingConnector(proxies, direct, CONNECT_TIMEOUT_MS, judgeByAddress(allowPrivateNetwork, resolve)),
    allowH2: false,
    pipelining: 1,
    maxHeaderSize: HEADER_BYTES_MAX,
  });
}

function describeFailure(error: Error & { code?: string }): string {
  if (error.name === 'TimeoutError') return 'no answer in time';
  // The failure is shown to the owner of the webhook, whom the address of our proxy does not concern.
  if (error instanceof ProxyFault) return `the forward proxy ${error.reason}`;
  return error.message === '' ? (error.code ?? error.name) : error.message;
}
