import { ChatAnthropic } from '@langchain/anthropic';
import { type AIMessage, type AIMessageChunk, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { z } from 'zod';
import { stack } from '#testing/stack.js';
import { connectAdministrator, createTenant } from '#testing/tenant.js';

/** LangChain's chat models for the three formats. */
const { gatewayUrl } = stack();

const administrator = await connectAdministrator(stack());
const { apiKey } = await createTenant(administrator);
afterAll(() => administrator.close());

const FORMATS = [
  { name: 'ChatOpenAI on chat', open: (model: string) => openai(model, false), counts: { plain: [8, 5, 13], streamed: [8, 5, 13] } },
  { name: 'ChatOpenAI on responses', open: (model: string) => openai(model, true), counts: { plain: [8, 5, 13], streamed: [8, 5, 13] } },
  {
    name: 'ChatAnthropic on messages',
    open: (model: string) => new ChatAnthropic({ model, apiKey, anthropicApiUrl: gatewayUrl, maxTokens: 500, maxRetries: 0 }),
    // LangChain reads the prompt tokens at the start of a stream, where the format reports 0 (M-21).
    counts: { plain: [8, 5, 13], streamed: [0, 5, 5] },
  },
];

function openai(model: string, useResponsesApi: boolean): ChatOpenAI {
  return new ChatOpenAI({ model, apiKey, configuration: { baseURL: `${gatewayUrl}/v1` }, maxRetries: 0, useResponsesApi });
}

const schema = z.object({ city: z.string() });
const weather = tool(({ city }) => `sunny in ${city}`, { name: 'get_weather', description: 'Weather', schema });
const time = tool(({ city }) => `noon in ${city}`, { name: 'get_time', description: 'Time', schema });

describe.each(FORMATS)('LangChain, $name', ({ open, counts }) => {
  test('invoke and stream: one text, and the usage [M-21]', async () => {
    const prompt = 'Hello there [[sim tokens=5]] now';
    const plain = await open('sim-fast').invoke(prompt);
    const streamed = await folded(open('sim-fast').stream(prompt));
    expect([plain.text, readCounts(plain)]).toEqual([streamed.text, counts.plain]);
    expect([streamed.text.length, readCounts(streamed)]).toEqual([20, counts.streamed]);
  });

  test('tools: calls, plain and streamed, and the answer to their results', async () => {
    const model = open('sim-fast').bindTools([weather, time]);
    const question = new HumanMessage('call get_weather {"city": "Rome"}, call get_time {"city": "Oslo"} [[sim interleave]]');
    const plain = await model.invoke([question]);
    const streamed = await folded(model.stream([question]));
    for (const called of [plain, streamed]) {
      const calls = called.tool_calls ?? [];
      expect(calls.map(({ name, args }) => [name, args])).toEqual([
        ['get_weather', { city: 'Rome' }],
        ['get_time', { city: 'Oslo' }],
      ]);
      const results = [await weather.invoke(calls[0] as never), await time.invoke(calls[1] as never)] as ToolMessage[];
      expect(results.every((result) => result instanceof ToolMessage)).toBe(true);
      const answer = await model.invoke([question, called, ...results]);
      expect(answer.text).toBe('The result is: sunny in Rome | noon in Oslo.');
    }
  });

  test('structured output', async () => {
    const answer = await open('sim-fast')
      .withStructuredOutput(z.object({ answer: z.number(), sources: z.array(z.string()) }))
      .invoke('some JSON');
    expect(answer).toEqual({ answer: 0, sources: [] });
  });

  test('an unknown model is a 404', async () => {
    await expect(open('gpt-5').invoke('x')).rejects.toMatchObject({ status: 404 });
  });
});

async function folded(stream: Promise<AsyncIterable<AIMessageChunk>>): Promise<AIMessageChunk> {
  let whole: AIMessageChunk | undefined;
  for await (const chunk of await stream) whole = whole?.concat(chunk) ?? chunk;
  if (!whole) throw new Error('a stream of nothing');
  return whole;
}

function readCounts({ usage_metadata: usage }: AIMessage | AIMessageChunk): unknown[] {
  return [usage?.input_tokens, usage?.output_tokens, usage?.total_tokens];
}
