import { generateText, Output, stepCountIs, streamText, tool } from 'ai-6';
import { createAnthropic } from 'ai-sdk-anthropic-3';
import { createOpenAI } from 'ai-sdk-openai-3';
import { z } from 'zod';
import { stack } from '#testing/stack.js';
import { connectAdministrator, createTenant } from '#testing/tenant.js';

/** AI SDK 6, which checks replies more strictly than 7 (M-31). */
const baseURL = `${stack().gatewayUrl}/v1`;

const administrator = await connectAdministrator(stack());
const { apiKey } = await createTenant(administrator);
afterAll(() => administrator.close());

const PROVIDERS = [
  { name: 'chat', open: (id: string) => createOpenAI({ baseURL, apiKey }).chat(id) },
  { name: 'responses', open: (id: string) => createOpenAI({ baseURL, apiKey }).responses(id) },
  { name: 'messages', open: (id: string) => createAnthropic({ baseURL, apiKey })(id) },
];
const weather = tool({ description: 'Weather', inputSchema: z.object({ city: z.string() }), execute: ({ city }) => `sunny in ${city}` });

describe.each(PROVIDERS)('AI SDK 6 on $name', ({ open }) => {
  const ask = (prompt: string, id = 'sim-fast') => ({
    model: open(id),
    prompt,
    maxRetries: 0,
    maxOutputTokens: 2_000,
    providerOptions: { openai: { store: false } },
  });

  test('text and usage, plain and streamed [M-31]', async () => {
    const request = ask('Hello [[sim tokens=12 cached=4]]', 'sim-reason');
    const streamed = streamText(request);
    for (const { text, finishReason, usage } of [
      await generateText(request),
      { text: await streamed.text, finishReason: await streamed.finishReason, usage: await streamed.usage },
    ]) {
      const { inputTokens, cachedInputTokens, outputTokens } = usage;
      expect({ length: text.length, finishReason, inputTokens, cachedInputTokens, outputTokens }).toEqual({
        length: 48,
        finishReason: 'stop',
        inputTokens: 8,
        cachedInputTokens: 4,
        outputTokens: 28,
      });
    }
  });

  test('two parallel calls, and the answer to their results, plain and streamed', async () => {
    const prompt = 'call weather {"city":"Rome"}, call weather {"city":"Oslo"} [[sim interleave]]';
    const request = { ...ask(prompt), tools: { weather }, stopWhen: stepCountIs(3) };
    const answer = 'The result is: sunny in Rome | sunny in Oslo.';
    expect([(await generateText(request)).text, await streamText(request).text]).toEqual([answer, answer]);
  });

  test('structured output', async () => {
    const output = Output.object({ schema: z.object({ answer: z.number() }) });
    expect((await generateText({ ...ask('some JSON'), output })).output).toEqual({ answer: 0 });
  });

  test('an unknown model is a 404 without a retry', async () => {
    await expect(generateText(ask('x', 'gpt-5'))).rejects.toMatchObject({ statusCode: 404, isRetryable: false });
  });
});
