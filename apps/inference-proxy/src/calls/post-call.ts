import type { Upstream, UpstreamCapabilities } from '#contracts/catalog.js';
import { postAuthorized } from '../credentials/post-authorized.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import type { UpstreamClient } from '../routing/upstream-client.js';
import { GrowingBuffer } from '../transport/growing-buffer.js';
import { type PostOptions, postStream, type TransferLimits, type UpstreamReply } from '../transport/post-stream.js';
import type { RenderedRequest, UpstreamAdapter, UpstreamCall } from '../upstreams/upstream-adapter.js';
import { encodeJson, encodeJsonInSlices } from './encode-json.js';

const ERROR_BYTES_MAX = 64 * 1024;
const ERROR_BODY_MS = 2_000;

/** Above about 200 kB of prompt, the request is encoded in slices, so that other requests are served meanwhile. */
const LARGE_PROMPT_TOKENS = 50_000;

/** The upstream that a call goes to, and the model's name there. */
export interface CallTarget {
  client: Pick<UpstreamClient, 'adapter' | 'upstream' | 'pool' | 'basePath' | 'addressError'> &
    Partial<Pick<UpstreamClient, 'query' | 'headers' | 'credential'>>;
  model: string;
  /** Absent: those of the upstream. */
  capabilities?: UpstreamCapabilities;
  /** See `UpstreamClient.findPath`. */
  path?: string | null | undefined;
  /** Sent to the upstream if present. */
  traceparent?: string | undefined;
  /** Called when the head of a reply has come. */
  onAnswer?(): void;
  /** See `UpstreamCall`. */
  onReply?: UpstreamCall['onReply'];
  onOddity?: UpstreamCall['onOddity'];
}

interface CallRequest {
  rendered: RenderedRequest;
  /** True when the upstream is asked for a stream. */
  stream: boolean;
  promptTokensEstimate: number;
  /** Returns the limits of the reply to a request of this length. */
  limits(requestLength: number): TransferLimits;
  /** Called when the request is written to a connection. */
  onSent(): void;
}

/**
 * Sends the request of a call, and resolves with the head of its reply, whatever its status. Rejects as `postStream` does, and for an
 * upstream that may not be called. The caller must call `reply.close()` at the end.
 */
export async function postCall(
  target: CallTarget,
  { rendered, stream, promptTokensEstimate, limits, onSent }: CallRequest,
  signal: AbortSignal,
): Promise<{ reply: UpstreamReply; requestLength: number }> {
  const { client, path } = target;
  const { upstream, pool, credential } = client;
  if (client.addressError !== undefined) {
    const { message: detail } = client.addressError;
    throw new UpstreamFailure('unreachable', 'model_unavailable', { detail, cause: client.addressError, isOperatorsFault: true });
  }
  if (path === null) {
    const detail = 'the name of the model would lead out of path';
    throw new UpstreamFailure('unreachable', 'model_unavailable', { detail, isOperatorsFault: true });
  }
  const content = upstream.body == null ? rendered.body : mergeFields(rendered.body, upstream.body);
  const body = promptTokensEstimate > LARGE_PROMPT_TOKENS ? await encodeLarge(content) : encodeJson(content);
  const options: PostOptions = {
    path: renderTarget(path ?? client.basePath + rendered.path, rendered, client.query),
    headers: {
      'user-agent': 'tollgate',
      ...client.headers?.(),
      accept: stream ? 'text/event-stream' : 'application/json',
      ...rendered.headers,
      'content-type': 'application/json',
      ...(target.traceparent !== undefined && { traceparent: target.traceparent }),
    },
    body,
    onSent,
    ...limits(body.length),
  };
  const reply = await (credential === undefined ? postStream(pool, options, signal) : postAuthorized(credential, pool, options, signal));
  target.onAnswer?.();
  return { reply, requestLength: body.length };
}

/** Returns the path with the query of the dialect and that of the catalog. */
function renderTarget(path: string, { action = '', query }: RenderedRequest, catalogQuery = ''): string {
  if (query === undefined) return path + action + catalogQuery;
  return `${path}${action}${catalogQuery === '' ? '?' : `${catalogQuery}&`}${query}`;
}

/** Returns a body with the fields of the catalog, and without those that are null there. */
function mergeFields(body: object, added: NonNullable<Upstream['body']>): object {
  return { ...body, ...Object.fromEntries(Object.entries(added).map(([name, value]) => [name, value ?? undefined])) };
}

/** Rendering may have taken long already, so other work comes first. */
async function encodeLarge(body: object): Promise<Buffer> {
  await new Promise((resolve) => setImmediate(resolve));
  return encodeJsonInSlices(body);
}

/** Throws `UpstreamFailure` for error statuses, redirects and compressed replies, which were not asked for. */
export async function assertGood(reply: UpstreamReply, adapter: UpstreamAdapter, call: UpstreamCall): Promise<void> {
  const { status, headers } = reply;
  const encoding = reply.header('content-encoding');
  if (status >= 300 && status < 400) {
    throw new UpstreamFailure('refused', 'upstream_error', { detail: `redirect (${status}) not followed` });
  }
  if (status !== 200) throw adapter.parseError({ status, headers, body: await errorText(reply) }, call);
  if (encoding !== undefined && encoding !== 'identity') {
    throw new UpstreamFailure('broken', 'upstream_error', { detail: 'reply is compressed' });
  }
}

/** Returns the beginning of an error's body. A connection that breaks after the status does not hide the status. */
async function errorText(reply: UpstreamReply): Promise<string> {
  const text = new GrowingBuffer();
  reply.setDeadline(ERROR_BODY_MS);
  try {
    for (let more = await reply.read(); more !== undefined && text.length < ERROR_BYTES_MAX; more = await reply.read()) {
      for (const chunk of more) text.push(chunk);
    }
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
  }
  return text.take().subarray(0, ERROR_BYTES_MAX).toString();
}
