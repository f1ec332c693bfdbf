import { GatewayError } from '#inference/errors.js';
import type { StreamEvent } from '#inference/stream-event.js';
import { collectCompletion } from '#testing/collect-completion.js';
import type { ParsedRequest, ProtocolAdapter, ReplyContext } from '../src/protocols/protocol-adapter.js';

/** Identity of every reply of an `adapterFetch`. */
const REPLY: ReplyContext = {
  id: 'x1',
  requestId: 'req_x1',
  createdSeconds: 1_760_000_000,
  nowSeconds: () => 1_760_000_002,
  model: 'sim-fast',
};

/** The answer to a request: its events up to the terminal one, or its error. */
export type Answer = readonly StreamEvent[] | GatewayError;

/**
 * Returns a `fetch` for an SDK that the adapter answers, without server or pipeline. A stream has a keep-alive of `keepAliveMs` before
 * each event. Calls `answer` once for each parsed request.
 */
export function adapterFetch<Parsed extends ParsedRequest>(
  adapter: ProtocolAdapter<Parsed>,
  keepAliveMs: number,
  answer: (parsed: Parsed) => Answer,
): typeof fetch {
  return async (_url, init) => {
    const headers = { 'x-request-id': REPLY.requestId, 'request-id': REPLY.requestId };
    const json = { ...headers, 'content-type': 'application/json' };
    try {
      const parsed = adapter.parseRequest(JSON.parse(String(init?.body)));
      const events = answer(parsed);
      if (events instanceof GatewayError) throw events;
      if (!parsed.request.stream)
        return new Response(adapter.renderCompletion(REPLY, parsed, collectCompletion(events)), { headers: json });
      const stream = streamText(adapter, parsed, events, keepAliveMs);
      return new Response(stream, { headers: { ...headers, 'content-type': 'text/event-stream; charset=utf-8' } });
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      return new Response(adapter.renderError(error, REPLY.requestId), { status: error.status, headers: json });
    }
  };
}

function streamText<Parsed extends ParsedRequest>(
  adapter: ProtocolAdapter<Parsed>,
  parsed: Parsed,
  events: readonly StreamEvent[],
  keepAliveMs: number,
): string {
  const renderer = adapter.renderStream(REPLY, parsed);
  const last = events.at(-1);
  const contents = events.slice(0, -1).map((event) => renderer.keepAlive(keepAliveMs) + renderer.render([event]));
  if (last?.type === 'completion-failure') return contents.join('') + renderer.fail(new GatewayError(last.code, last.message));
  const { finishReason, usage } = collectCompletion(events);
  return contents.join('') + renderer.finish(finishReason, usage);
}
