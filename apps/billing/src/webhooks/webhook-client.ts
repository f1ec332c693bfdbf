import { Agent, request } from 'undici';
import { VERSION } from '#config/version.js';
import { assertHostAllowed, guardedLookup } from '#network/address-guard.js';

/** A message to one webhook. */
export interface WebhookMessage {
  url: string;
  allowPrivateNetwork: boolean;
  headers: Record<string, string>;
  body: string;
}

export const SEND_TIMEOUT_MS = 10_000;
const CONNECT_TIMEOUT_MS = 5_000;
const HEADER_BYTES_MAX = 16 * 1024;
/** Bytes of a reply that are read to use the connection again. After a longer or slower reply it is closed. */
const REPLY_BYTES_MAX = 16 * 1024;
const REPLY_TIMEOUT_MS = 1_000;
const FAILURE_LENGTH_MAX = 200;

/** Sends messages to webhooks: to allowed addresses only, without redirects and proxies, and with verified certificates. */
export class WebhookClient {
  private readonly agents = { guarded: newAgent(false), private: newAgent(true) };

  constructor(private readonly timeoutMs = SEND_TIMEOUT_MS) {}

  /** Returns why the message was not accepted; undefined when it was, by a status of 2xx. Never throws. The body of the reply is dropped. */
  async send({ url, allowPrivateNetwork, headers, body }: WebhookMessage): Promise<string | undefined> {
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
      return statusCode >= 200 && statusCode < 300 ? undefined : `status ${statusCode}`;
    } catch (error) {
      return failureOf(error as Error).slice(0, FAILURE_LENGTH_MAX);
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.agents.guarded.destroy(), this.agents.private.destroy()]);
  }
}

function newAgent(allowPrivateNetwork: boolean): Agent {
  return new Agent({
    connect: {
      lookup: guardedLookup(allowPrivateNetwork),
      timeout: CONNECT_TIMEOUT_MS,
      rejectUnauthorized: true,
      minVersion: 'TLSv1.2',
    },
    allowH2: false,
    pipelining: 1,
    maxHeaderSize: HEADER_BYTES_MAX,
  });
}

function failureOf(error: Error & { code?: string }): string {
  if (error.name === 'TimeoutError') return 'no answer in time';
  return error.message === '' ? (error.code ?? error.name) : error.message;
}
