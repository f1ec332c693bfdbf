import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { OpenAIEmbeddings } from '@langchain/openai';
import { embed, embedMany } from 'ai';
import OpenAI from 'openai';
import { requestShow } from '#contracts/billing/requests.js';
import { stack } from '#testing/stack.js';
import { connectAdministrator, createTenant } from '#testing/tenant.js';

/** Embeddings by the clients that applications use: every one gets the same vectors. */
const { gatewayUrl } = stack();
const baseURL = `${gatewayUrl}/v1`;
const MODEL = 'sim-embed';
const TEXTS = ['A red bicycle.', 'Ein grünes Boot 🌍', 'x'];

const administrator = await connectAdministrator(stack());
const { apiKey } = await createTenant(administrator);
afterAll(() => administrator.close());

const openai = new OpenAI({ baseURL, apiKey, maxRetries: 0 });

/** The vectors as the gateway writes them in numbers. */
const expected = await readVectors({ model: MODEL, input: TEXTS, encoding_format: 'float' });

async function readVectors(body: object): Promise<number[][]> {
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  const response = await fetch(`${baseURL}/embeddings`, { method: 'POST', headers, body: JSON.stringify(body) });
  const { data } = (await response.json()) as { data: { embedding: number[] }[] };
  return data.map(({ embedding }) => embedding);
}

test('OpenAI: base64, which the SDK asks for by itself, and numbers are one vector; the usage is billed [api-embeddings]', async () => {
  const { data: reply, response } = await openai.embeddings.create({ model: MODEL, input: TEXTS, user: 'alice' }).withResponse();
  expect(reply).toEqual({
    object: 'list',
    data: expected.map((embedding, index) => ({ object: 'embedding', index, embedding })),
    model: MODEL,
    usage: { prompt_tokens: 11, total_tokens: 11 },
  });
  expect(expected.map((vector) => vector.length)).toEqual([256, 256, 256]);
  const shown = await administrator.request(requestShow, { requestId: response.headers.get('x-request-id') ?? '' });
  expect(shown).toMatchObject({
    model: MODEL,
    // Bytes of the texts, and two tokens for each: 14 + 21 + 1 + 6.
    heldPicoUsd: String(42 * 20_000),
    settlement: { reason: 'completed', usage: { promptTokens: 11, outputTokens: 0, promptSource: 'reported' }, costPicoUsd: '220000' },
    attribution: { user: 'alice' },
  });
});

test('OpenAI: one text, tokens, several arrays of tokens, and short vectors', async () => {
  const [whole] = expected;
  const short = await openai.embeddings.create({ model: MODEL, input: TEXTS[0] as string, dimensions: 8 });
  expect(short.data.map(({ embedding }) => embedding)).toEqual([whole?.slice(0, 8)]);
  const tokens = await openai.embeddings.create({ model: MODEL, input: [1, 2, 3] });
  const arrays = await openai.embeddings.create({ model: MODEL, input: [[9], [1, 2, 3]] });
  expect([tokens.usage.prompt_tokens, arrays.usage.prompt_tokens, arrays.data[1]?.embedding]).toEqual([3, 4, tokens.data[0]?.embedding]);
});

test('OpenAI: errors have their classes and fields', async () => {
  const refused = (model: string, over: object = {}) => openai.embeddings.create({ model, input: 'x', ...over });
  await expect(refused('gpt-5')).rejects.toMatchObject({ status: 404, code: 'model_not_found', param: 'model' });
  await expect(refused('sim-fast')).rejects.toMatchObject({ status: 400, code: 'invalid_request', param: 'model' });
  await expect(refused(MODEL, { dimensions: 257 })).rejects.toMatchObject({ status: 400, code: 'invalid_request', param: 'dimensions' });
  await expect(refused(MODEL, { input: '' })).rejects.toMatchObject({ status: 400, code: 'invalid_request', param: 'input' });
  await expect(refused(MODEL, { input: '[[sim status=500]]' })).rejects.toMatchObject({ status: 502, code: 'upstream_error' });
  await expect(refused(MODEL, { input: 'x'.repeat(40_000) })).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded' });
  await expect(refused(MODEL, { input: 'x'.repeat(80_000) })).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded' });
});

test.each(['/v1/chat/completions', '/v1/responses', '/v1/messages', '/v1/messages/count_tokens'])(
  'a model for embeddings is refused by %s [api-embeddings]',
  async (path) => {
    const messages = [{ role: 'user', content: 'Hello' }];
    const response = await fetch(gatewayUrl + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: MODEL, max_tokens: 5, messages, input: 'Hello' }),
    });
    const { error } = (await response.json()) as { error: { type: string; message: string } };
    expect([response.status, error.type, error.message]).toEqual([
      400,
      'invalid_request_error',
      'The model "sim-embed" is for embeddings: use POST /v1/embeddings.',
    ]);
  },
);

test('LangChain: documents and a query', async () => {
  const embeddings = new OpenAIEmbeddings({ model: MODEL, apiKey, configuration: { baseURL }, maxRetries: 0, batchSize: 2 });
  expect(await embeddings.embedDocuments(TEXTS)).toEqual(expected);
  expect(await embeddings.embedQuery(TEXTS[1] as string)).toEqual(expected[1]);
});

test.each([
  ['@ai-sdk/openai', createOpenAI({ baseURL, apiKey }).embedding(MODEL)],
  ['@ai-sdk/openai-compatible', createOpenAICompatible({ name: 'tollgate', baseURL, apiKey }).embeddingModel(MODEL)],
] as const)('AI SDK, %s: one value and many', async (_name, model) => {
  const { embedding, usage } = await embed({ model, value: TEXTS[0] as string, maxRetries: 0 });
  expect([embedding, usage.tokens]).toEqual([expected[0], 4]);
  const many = await embedMany({ model, values: TEXTS, maxRetries: 0 });
  expect([many.embeddings, many.usage.tokens]).toEqual([expected, 11]);
});
