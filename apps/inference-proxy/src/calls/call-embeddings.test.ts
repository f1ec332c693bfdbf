import fc from 'fast-check';
import { inputLength } from '#inference/embedding-size.js';
import type { StreamEvent } from '#inference/stream-event.js';
import { NO_USAGE } from '#inference/usage.js';
import { testCases } from '#testing/long-run.js';
import { collect, failure, START, STOP, setUp, startUpstreamBeforeEach, upstream, usage } from '../../test/inference-fixture.js';
import type { Behaviour } from '../../test/test-upstream.js';
import { splitInputs } from './call-embeddings.js';

const inputs = fc.array(fc.oneof(fc.string({ minLength: 1, maxLength: 9 }), fc.array(fc.nat(9), { minLength: 1, maxLength: 9 })), {
  minLength: 1,
  maxLength: 30,
});
const limits = fc.record({ embeddingInputsMax: fc.integer({ min: 1, max: 8 }), embeddingTokensMax: fc.integer({ min: 1, max: 60 }) });

testCases(
  'parts are the inputs in order, each within the limits or one input',
  { usual: 300, long: 20_000 },
  fc.tuple(inputs, limits),
  ([all, { embeddingInputsMax, embeddingTokensMax }]) => {
    const parts = [...splitInputs(all, { embeddingInputsMax, embeddingTokensMax }, 4)];
    expect(parts.flat()).toEqual(all);
    const size = (part: typeof all): number => part.reduce((sum, input) => sum + inputLength(input) + 2, 0);
    for (const [index, part] of parts.entries()) {
      expect(part.length).toBeLessThanOrEqual(embeddingInputsMax);
      if (part.length > 1) expect(size(part)).toBeLessThanOrEqual(embeddingTokensMax);
      // No part takes less than it could: another call costs time.
      const next = parts[index + 1]?.[0];
      if (next !== undefined) expect(part.length === embeddingInputsMax || size([...part, next]) > embeddingTokensMax).toBe(true);
    }
  },
);

test('long vectors make smaller parts, so that no reply is too large to parse', () => {
  const all = Array.from({ length: 2_048 }, () => 'x');
  expect([256, 1_536, 16_384].map((dimensions) => [...splitInputs(all, {}, dimensions)][0]?.length)).toEqual([2_048, 341, 32]);
});

describe('a request of three parts', () => {
  startUpstreamBeforeEach();

  const INPUTS = ['a', 'bb', 'c'.repeat(40), 'd', 'e'];
  const VECTORS: StreamEvent[] = [[1, 2], [40, 1], [1]].map((lengths) => ({
    type: 'embedding-delta',
    vectors: lengths.map((one) => [one]),
  }));
  const counted = (promptTokens: number): StreamEvent => usage({ promptTokens, promptSource: 'reported', outputSource: 'reported' });

  /** Answers with the length of each input, and counts a token for each character. `before` is called with the number of the call. */
  function answer(before: (call: number) => void | Promise<unknown> = () => undefined): Behaviour {
    return async (_request, response) => {
      await before(upstream.calls);
      const input = upstream.bodies.at(-1)?.input as string[];
      const data = input.map(({ length }, index) => ({ index, embedding: [length] }));
      response.end(JSON.stringify({ data, usage: { prompt_tokens: input.join('').length } }));
    };
  }

  const start = (capabilities: object = {}) =>
    setUp({
      upstreams: [upstream.definition({ capabilities: { embeddingInputsMax: 2, ...capabilities } })],
      request: { turns: [], stream: false, embedding: { inputs: INPUTS } },
      outputTokensMax: 0,
      promptTokensEstimate: 12,
    });

  test('its vectors come when all are complete, with the sum of the usage; until then the meter stays at 0', async () => {
    const { stream, lease } = start();
    const readings: unknown[] = [];
    upstream.behave(answer(() => void readings.push(lease.read?.())));
    expect(await collect(stream)).toEqual([START, ...VECTORS, counted(45), STOP]);
    expect([readings, lease.read?.()]).toEqual([[NO_USAGE, NO_USAGE, NO_USAGE], expect.objectContaining({ promptTokens: 45 })]);
  });

  test('a part that fails fails all of it, without vectors and usage', async () => {
    upstream.behave(async (request, response) => {
      if (upstream.calls === 3) response.end('not JSON');
      else await answer()(request, response);
    });
    expect(await collect(start().stream)).toEqual([START, failure('upstream_error')]);
  });

  test.each([false, true])(
    'a client that leaves in the second part owes two; it is not read on (hidden reasoning: %j)',
    async (hiddenReasoning) => {
      const { stream, leave, deferred } = start({ hiddenReasoning });
      upstream.behave(answer((call) => (call === 2 ? new Promise(() => leave()) : undefined)));
      expect(await collect(stream, 'open')).toEqual([START, usage({ promptTokens: 3 + 11 })]);
      expect([upstream.calls, deferred.length]).toEqual([2, 0]);
    },
  );

  test('a gateway that is lost in the second part owes nothing', async () => {
    const { stream, client, settlements } = start();
    upstream.behave(answer((call) => (call === 2 ? new Promise(() => client.abort(new Error('lost'))) : undefined)));
    await collect(stream, 'open');
    expect(settlements.map((read) => read())).toMatchObject([{ reason: 'client-disconnected', usage: NO_USAGE }]);
  });

  test('a client that leaves while vectors are returned owes all of it', async () => {
    upstream.behave(answer());
    const { stream, leave } = start();
    const events: StreamEvent[] = [];
    for await (const batch of stream) {
      events.push(...batch);
      leave();
    }
    expect(events).toEqual([START, VECTORS[0], counted(45)]);
  });
});
