import { jest } from '@jest/globals';
import { DIALECT_STREAMS } from '#testing/dialect-streams.js';
import { TestUpstream } from '../../test/test-upstream.js';
import { TestCalls, upstreamAt } from '../../test/upstream-calls.js';
import { UsageMeter } from './usage-meter.js';

let upstream: TestUpstream;

beforeEach(async () => {
  upstream = await TestUpstream.start();
});
afterEach(() => upstream.stop());

test('the meter gets the usage that the upstream reports before its end', async () => {
  const { opening, text, ending } = DIALECT_STREAMS['openai-chat'];
  upstream.behave((_request, response) => {
    response.setHeader('content-type', 'text/event-stream');
    response.end(opening + text('Good morning') + ending);
  });
  const calls = new TestCalls(upstreamAt(`http://127.0.0.1:${upstream.port}/v1`));
  const meter = new UsageMeter({ promptTokensEstimate: 20, outputTokensMax: 100 });
  const noteCounts = jest.spyOn(meter, 'noteCounts');
  for await (const _events of calls.start({ request: { stream: true } }, meter));
  await calls.close();
  expect(noteCounts).toHaveBeenLastCalledWith(meter.final(), true);
});

test('a request with a large prompt is sent like any other', async () => {
  upstream.behave((_request, response) => void response.end(DIALECT_STREAMS['openai-chat'].plain('Good morning')));
  const calls = new TestCalls(upstreamAt(`http://127.0.0.1:${upstream.port}/v1`));
  const turns = Array.from({ length: 500 }, (_, n) => ({ role: 'user' as const, parts: [{ type: 'text' as const, text: `${n} 🌍 "é"` }] }));
  const small = await calls.collect({ request: { turns }, promptTokensEstimate: 50_000 });
  const large = await calls.collect({ request: { turns }, promptTokensEstimate: 50_001 });
  await calls.close();
  expect([large, upstream.bodies[1]]).toEqual([small, upstream.bodies[0]]);
});
