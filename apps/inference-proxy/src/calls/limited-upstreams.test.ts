import type { Upstream, UpstreamCapabilities } from '#contracts/catalog.js';
import type { InferenceRequest } from '#inference/request.js';
import type { StreamEvent } from '#inference/stream-event.js';
import type { Tool } from '#inference/tool.js';
import { DIALECT_STREAMS, REPORTED_USAGE } from '#testing/dialect-streams.js';
import {
  collect,
  REPORTED,
  START,
  STOP,
  setUp,
  startUpstreamBeforeEach,
  stopAfterwards,
  text,
  upstream,
  usage,
} from '../../test/inference-fixture.js';
import { answering, plainReply, streaming, TestUpstream } from '../../test/test-upstream.js';

startUpstreamBeforeEach();

const RUN: Tool = { key: { name: 'run' }, wireName: 'run', kind: 'function', parameters: { type: 'object', properties: {} } };
const FORCED: Partial<InferenceRequest>[] = [
  { tools: [RUN], toolChoice: { kind: 'required' }, stream: false },
  { tools: [RUN], toolChoice: { kind: 'tool', wireName: 'run' }, stream: false },
];

function able(capabilities: Partial<UpstreamCapabilities>, over: Partial<Upstream> = {}): Upstream {
  return { ...upstream.definition({ capabilities }), ...over };
}

describe('a request that forces a call', () => {
  const REFUSED = {
    type: 'completion-failure',
    code: 'invalid_request',
    message: 'The model\'s server rejected this request: it does not take a tool_choice that forces a call. Use "auto" instead.',
  };

  test.each(FORCED)('is refused before any call where no route takes that: %o', async (request) => {
    const upstreams = [able({ toolChoice: 'none' }), able({ toolChoice: 'auto' }, { id: 'other' })];
    expect(await collect(setUp({ upstreams, request }).stream)).toEqual([REFUSED]);
    expect(upstream.calls).toBe(0);
  });

  test.each(FORCED)('goes to the route that takes it, whatever its priority: %o', async (request) => {
    const second = await TestUpstream.start(answering(200, plainReply('Hello')));
    stopAfterwards(second);
    const upstreams = [able({ toolChoice: 'none' }), second.definition({})].map((one, index) => ({
      ...one,
      id: ['first', 'test'][index] as string,
    }));
    expect(await collect(setUp({ upstreams, request }).stream)).toEqual([START, text('Hello'), REPORTED, STOP]);
    expect([upstream.calls, second.calls]).toEqual([0, 1]);
  });

  test('ends with the failure of the route that takes it, and no other is tried', async () => {
    const failing = await TestUpstream.start(answering(500, ''));
    stopAfterwards(failing);
    const upstreams = [able({ toolChoice: 'none' }), failing.definition({ id: 'test' } as Partial<Upstream>)].map((one, index) => ({
      ...one,
      id: ['first', 'test'][index] as string,
    }));
    const events = await collect(setUp({ upstreams, request: FORCED[0] }).stream);
    expect(events.at(-1)).toMatchObject({ code: 'upstream_error' });
    expect([upstream.calls, failing.calls]).toEqual([0, 1]);
  });

  test.each(['none', 'auto'] as const)('is a forced one alone: a request without goes to an upstream with %s', async (toolChoice) => {
    upstream.behave(answering(200, plainReply('Hello')));
    const request = { tools: [RUN], toolChoice: { kind: 'auto' as const }, stream: false };
    const upstreams = [able({ toolChoice })];
    expect(await collect(setUp({ upstreams, request }).stream)).toEqual([START, text('Hello'), REPORTED, STOP]);
  });
});

describe.each(['openai-chat', 'openai-responses'] as const)('%s without an output cap', (kind) => {
  const { opening, text: piece, ending, plain } = DIALECT_STREAMS[kind];
  const upstreams = (): Upstream[] => [able({ outputCap: false }, { kind })];

  test('a reply within the cap of the request is as it came', async () => {
    upstream.behave(streaming(opening, piece('Hello'), ending));
    expect(await collect(setUp({ upstreams: upstreams() }).stream)).toEqual([START, text('Hello'), REPORTED, STOP]);
  });

  test('a longer reply ends at the cap, and no output beyond it is billed', async () => {
    upstream.behave(streaming(opening, piece('12345'), piece('67890'), ending));
    const { stream } = setUp({ upstreams: upstreams(), outputTokensMax: 2 });
    expect(await collect(stream)).toEqual([START, text('12345678'), usage({ ...REPORTED_USAGE, outputTokens: 2 }), LENGTH]);
  });

  test('a plain reply too', async () => {
    upstream.behave(answering(200, plain('1234567890')));
    const { stream } = setUp({ upstreams: upstreams(), outputTokensMax: 2, request: { stream: false } });
    expect(await collect(stream)).toEqual([START, text('12345678'), usage({ ...REPORTED_USAGE, outputTokens: 2 }), LENGTH]);
  });

  test('an endless reply is cut, its socket is closed, and the cap is billed', async () => {
    const closed = new Promise<void>((resolve) => {
      upstream.behave(({ socket }, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(opening);
        const timer = setInterval(() => response.write(piece('x'.repeat(1_000))), 1);
        socket.once('close', () => {
          clearInterval(timer);
          resolve();
        });
      });
    });
    const { stream } = setUp({ upstreams: upstreams(), outputTokensMax: 50 });
    const events = await collect(stream);
    expect(joined(events)).toEqual([START, text('x'.repeat(200)), usage({ outputTokens: 50 }), LENGTH]);
    await closed;
  });
});

const LENGTH: StreamEvent = { type: 'completion-finish', reason: 'length' };

function joined(events: readonly StreamEvent[]): StreamEvent[] {
  const all: StreamEvent[] = [];
  for (const event of events) {
    const last = all.at(-1);
    if (event.type === 'text-delta' && last?.type === 'text-delta') all[all.length - 1] = text(last.text + event.text);
    else all.push(event);
  }
  return all;
}
