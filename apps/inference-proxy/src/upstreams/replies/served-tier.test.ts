import { UsageCounter } from '../anthropic-messages/usage.js';
import { UsageCounter as GeminiUsageCounter } from '../gemini/usage.js';
import { ChatStreamParser } from '../openai-chat/stream.js';
import { ResponsesStreamParser } from '../openai-responses/stream.js';
import type { UpstreamCall } from '../upstream-adapter.js';

/** The tier that an upstream says it served, in each dialect. */
const CALL = { request: { tools: [] }, capabilities: {}, outputTokensMax: 100 } as unknown as UpstreamCall;

const chunk = (service_tier: unknown, more: object = {}) =>
  JSON.stringify({ object: 'chat.completion.chunk', service_tier, choices: [{ index: 0, delta: { content: 'a' } }], ...more });

test.each([
  ['priority', 'priority'],
  ['default', undefined],
  ['standard', undefined],
  ['auto', undefined],
  ['two words', undefined],
  ['x'.repeat(33), undefined],
  [7, undefined],
])('a chunk of Chat Completions says the tier %p', (said, tier) => {
  const parser = new ChatStreamParser(CALL);
  parser.push(chunk(said, { usage: { prompt_tokens: 3, completion_tokens: 1 } }), []);
  expect(parser.usageSoFar?.tier).toBe(tier);
});

test('the tier of Chat Completions is known before the usage, and the last one counts', () => {
  const parser = new ChatStreamParser(CALL);
  parser.push(chunk('priority'), []);
  expect([parser.tier, parser.usageSoFar]).toEqual(['priority', undefined]);
  parser.push(chunk('default', { usage: { prompt_tokens: 3, completion_tokens: 1 } }), []);
  expect([parser.tier, parser.usageSoFar?.tier]).toEqual([undefined, undefined]);
});

test('Responses say the tier in the response, also before its end', () => {
  const parser = new ResponsesStreamParser(CALL);
  parser.push(JSON.stringify({ type: 'response.created', response: { service_tier: 'flex' } }), []);
  expect(parser.tier).toBe('flex');
  const output = [{ type: 'message', content: [{ type: 'output_text', text: 'a' }] }];
  const events: object[] = [];
  const response = { status: 'completed', output, usage: { input_tokens: 3, output_tokens: 1 }, service_tier: 'priority' };
  parser.push(JSON.stringify({ type: 'response.completed', response }), events as never);
  expect(events).toContainEqual({ type: 'usage-report', usage: expect.objectContaining({ tier: 'priority' }) });
});

test('Messages say the tier in the usage, and a later event without one keeps it', () => {
  const counter = new UsageCounter();
  counter.readStart({ input_tokens: 3, service_tier: 'priority' });
  counter.read({ output_tokens: 1 });
  expect(counter.usage?.tier).toBe('priority');
  counter.read({ output_tokens: 1, service_tier: 'standard' });
  expect(counter.usage?.tier).toBeUndefined();
});

test.each([
  [{ serviceTier: 'flex' }, 'flex'],
  [{ serviceTier: 'SERVICE_TIER_PRIORITY' }, 'priority'],
  [{ serviceTier: 'standard' }, undefined],
  [{ serviceTier: 'SERVICE_TIER_UNSPECIFIED' }, undefined],
  [{ trafficType: 'ON_DEMAND' }, undefined],
  [{ trafficType: 'ON_DEMAND_FLEX' }, 'flex'],
  [{ trafficType: 'PROVISIONED_THROUGHPUT' }, 'provisioned_throughput'],
  [{ trafficType: 'TRAFFIC_TYPE_UNSPECIFIED' }, undefined],
  [{ trafficType: 'ON_DEMAND', serviceTier: 'priority' }, 'priority'],
  [{ serviceTier: 7 }, undefined],
])('the usage of Gemini says the tier: %j', (said, tier) => {
  const counter = new GeminiUsageCounter(CALL);
  counter.read({ promptTokenCount: 3, candidatesTokenCount: 1, ...said });
  expect(counter.usage?.tier).toBe(tier);
  counter.read({ candidatesTokenCount: 2 });
  expect(counter.usage?.tier).toBe(tier);
});
