import { ACCOUNT_LINES_BYTES, outputInstruction } from '#inference/added-texts.js';
import type { InferenceRequest, OutputFormat } from '#inference/request.js';
import { TEST_MODEL } from '#testing/fake-services.js';
import type { Model } from '../clients/catalog.js';
import { quoteRequest } from './quote.js';

/** As `sim-tiny` of config/catalog.yaml. */
const TINY: Model = {
  ...TEST_MODEL,
  contextTokens: 2_048,
  maxOutputTokens: 256,
  defaultOutputTokens: 256,
  price: { inputPicoUsd: 50_000n, cachedInputPicoUsd: 5_000n, outputPicoUsd: 200_000n },
  pinnedPrice: TEST_MODEL.price,
};

function prompt(text: string, maxOutputTokens?: number): InferenceRequest {
  const turns: InferenceRequest['turns'] = [{ role: 'user', parts: [{ type: 'text', text }] }];
  return { model: 'tiny', turns, tools: [], maxOutputTokens, output: { kind: 'text' }, stream: false, hints: {} };
}

const quoteCap = (bytes: number, maxOutputTokens?: number): number =>
  quoteRequest(TINY, prompt('"'.repeat(bytes), maxOutputTokens)).outputTokensMax;

test.each([
  ['a short prompt', 12, undefined, 256],
  ['a prompt whose estimate leaves less than the default', 7_400, undefined, 2_048 - 1_850],
  ['a prompt whose estimate leaves nothing', 8_192, undefined, 256],
  ['a request for more than the estimate leaves', 7_900, 100, 100],
  ['a prompt of quotes, which JSON would escape', 4_400, 100, 100],
  ['the longest prompt that may fit', (2_048 - 100) * 8, 100, 100],
])(
  '%s is left to the upstream: %d bytes with a requested output of %p get a cap of %d [error-context-length]',
  (_name, bytes, wished, cap) => {
    expect(quoteCap(bytes, wished)).toBe(cap);
  },
);

test.each([
  ['beside the requested output', (2_048 - 100 + 1) * 8, 100, /prompt is too long: 3998 tokens > 2048 maximum/],
  ['at all', 2_048 * 8, undefined, /prompt is too long: 4097 tokens > 2048 maximum/],
])('a prompt that cannot fit %s, by 8 bytes a token, is refused [error-context-length]', (_name, bytes, wished, message) => {
  expect(() => quoteCap(bytes, wished)).toThrow(
    expect.objectContaining({ code: 'context_length_exceeded', message: expect.stringMatching(message) }),
  );
});

test('the hold is one token a byte of the prompt, and the output cap [hold-size]', () => {
  const { inputPicoUsd, outputPicoUsd } = TINY.price;
  expect(quoteRequest(TINY, prompt('Twelve bytes', 1))).toEqual({
    price: TINY.price,
    pinnedPrice: TINY.pinnedPrice,
    amount: 12n * inputPicoUsd + outputPicoUsd,
    promptTokensMax: 12,
    promptTokensEstimate: 3,
    outputTokensMax: 1,
  });
});

const IMAGE = { type: 'image' as const, mediaType: 'image/png' as const, base64: 'AAAA' };

test.each<[string, number, number, number]>([
  ['a short prompt', 4_092, 0, 0],
  ['a prompt of 1,024 tokens', 4_093, 0, ACCOUNT_LINES_BYTES],
  ['a short one with an image', 3_837, 1, ACCOUNT_LINES_BYTES],
])('the lines that keep caches apart count in a prompt that may be cached: %s [hold-size]', (_what, textBytes, images, lineBytes) => {
  const model: Model = { ...TINY, contextTokens: 8_192, input: ['text', 'image'], tokensPerImageMax: 100 };
  const request = prompt('a'.repeat(textBytes), 1);
  request.turns.push({ role: 'user', parts: Array.from({ length: images }, () => IMAGE) });
  expect(quoteRequest(model, request).promptTokensMax - textBytes - images * 100).toBe(lineBytes);
});

test('the hold has the price of the request and of each image, and pins how many there are', () => {
  const units = { requestPicoUsd: 7_000n, imagePicoUsd: 300n };
  const model: Model = {
    ...TINY,
    input: ['text', 'image'],
    price: { ...TINY.price, ...units },
    pinnedPrice: { ...TINY.pinnedPrice, requestPicoUsd: '7000', imagePicoUsd: '300' },
  };
  const image = { type: 'image', mediaType: 'image/png', base64: 'AAAA' } as const;
  const withImages = { ...prompt('', 1), turns: [{ role: 'user' as const, parts: [image, image] }] };
  const { inputPicoUsd, outputPicoUsd } = TINY.price;
  const promptAmount = BigInt(2 * TINY.tokensPerImageMax) * inputPicoUsd + 7_000n + 2n * 300n;
  expect(quoteRequest(model, withImages)).toMatchObject({
    price: { ...model.price, images: 2 },
    pinnedPrice: { ...model.pinnedPrice, images: 2 },
    amount: promptAmount + outputPicoUsd,
  });
  expect(quoteRequest(model, prompt('Twelve bytes', 1))).toMatchObject({
    price: model.price,
    pinnedPrice: model.pinnedPrice,
    amount: 12n * inputPicoUsd + 7_000n + outputPicoUsd,
  });
});

test('the hold pins how many images each class has, by the bytes of an image', () => {
  const imageSteps = [
    { aboveBytes: 3, imagePicoUsd: 5n },
    { aboveBytes: 6, imagePicoUsd: 9n },
  ];
  const pinnedSteps = imageSteps.map(({ aboveBytes, imagePicoUsd }) => ({ aboveBytes, imagePicoUsd: String(imagePicoUsd) }));
  const model: Model = {
    ...TINY,
    input: ['text', 'image'],
    tokensPerImageMax: 1,
    price: { ...TINY.price, imagePicoUsd: 2n, imageSteps },
    pinnedPrice: { ...TINY.pinnedPrice, imagePicoUsd: '2', imageSteps: pinnedSteps },
  };
  // 3, 4, 6 and 7 bytes.
  const parts = ['AAAA', 'AAAAAA==', 'AAAAAAAA', 'AAAAAAAAAA=='].map((base64) => ({ ...IMAGE, base64 }));
  const { inputPicoUsd, outputPicoUsd } = TINY.price;
  expect(quoteRequest(model, { ...prompt('', 1), turns: [{ role: 'user', parts }] })).toMatchObject({
    pinnedPrice: {
      ...model.pinnedPrice,
      images: 1,
      imageSteps: [
        { ...pinnedSteps[0], images: 2 },
        { ...pinnedSteps[1], images: 1 },
      ],
    },
    amount: 4n * inputPicoUsd + 2n + 2n * 5n + 9n + outputPicoUsd,
  });
});

test('the hold is of the dearest step that the bytes of the prompt can reach [hold-size]', () => {
  const price = { ...TINY.price, steps: [{ above: 11, reprices: 'whole' as const, inputPicoUsd: 70_000n, cachedInputPicoUsd: 5_000n }] };
  const { inputPicoUsd, outputPicoUsd } = price;
  const held = (text: string) => quoteRequest({ ...TINY, price }, prompt(text, 1)).amount;
  expect([held('Eleven byte'), held('Twelve bytes')]).toEqual([11n * inputPicoUsd + outputPicoUsd, 12n * 70_000n + outputPicoUsd]);
});

const SCHEMA: OutputFormat = { kind: 'json-schema', name: 'x', schema: { type: 'null' } };

test.each<[string, Partial<InferenceRequest>, number]>([
  ['the schema of the output', { output: SCHEMA }, outputInstruction(SCHEMA).length],
  ['an image', { turns: [{ role: 'user', parts: [{ type: 'image', mediaType: 'image/png', base64: 'AAAA' }] }] }, TINY.tokensPerImageMax],
  ['earlier reasoning', { turns: [{ role: 'assistant', parts: [{ type: 'reasoning', text: 'Hm. Hm.' }] }] }, 7],
])('the hold covers %s [hold-size]', (_name, over, promptTokens) => {
  const model: Model = { ...TINY, input: ['text', 'image'], reasoningEcho: true };
  const { inputPicoUsd, outputPicoUsd } = TINY.price;
  expect(quoteRequest(model, { ...prompt('', 1), ...over }).amount).toBe(BigInt(promptTokens) * inputPicoUsd + outputPicoUsd);
});

describe('embeddings', () => {
  const EMBEDDER: Model = { ...TINY, contextTokens: 10, embeddingDimensions: 768 };
  const ask = (inputs: (string | number[])[], dimensions?: number): InferenceRequest => ({
    ...prompt(''),
    ...{ turns: [], embedding: { inputs, ...(dimensions !== undefined && { dimensions }) } },
  });
  const { price, pinnedPrice } = EMBEDDER;

  test('the hold is a token for each byte and each given token, and two for each input [hold-size]', () => {
    expect(quoteRequest(EMBEDDER, ask(['äb', [1, 2, 3, 4], 'x'.repeat(80)]))).toEqual({
      ...{ price, pinnedPrice, amount: (83n + 4n + 6n) * price.inputPicoUsd },
      ...{ promptTokensMax: 93, promptTokensEstimate: 25, outputTokensMax: 0, embedding: { inputs: 3, dimensions: 768 } },
    });
    expect(quoteRequest(EMBEDDER, ask(['a'], 8)).embedding).toEqual({ inputs: 1, dimensions: 8 });
  });

  test.each<[what: string, model: Model, request: InferenceRequest, error: object]>([
    [
      'a text that cannot fit, by 8 bytes a token',
      EMBEDDER,
      ask(['a', 'x'.repeat(88)]),
      { code: 'context_length_exceeded', param: 'input' },
    ],
    ['too many given tokens', EMBEDDER, ask([Array(11).fill(1)]), { code: 'context_length_exceeded', param: 'input' }],
    ['longer vectors than the model has', EMBEDDER, ask(['a'], 769), { code: 'invalid_request', param: 'dimensions' }],
    ['embeddings of a model that writes', TINY, ask(['a']), { code: 'invalid_request', param: 'model' }],
    ['words of a model for embeddings', EMBEDDER, prompt('Hello'), { code: 'invalid_request', param: 'model' }],
  ])('refused: %s', (_what, model, request, error) => {
    expect(() => quoteRequest(model, request)).toThrow(expect.objectContaining(error));
  });
});
