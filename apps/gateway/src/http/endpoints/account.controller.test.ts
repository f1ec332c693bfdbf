import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { keyResolve } from '#contracts/billing/keys.js';
import { modelList, type PricePlan } from '#contracts/catalog.js';
import { TEST_CALLER, TEST_KEY, TEST_MODEL } from '#testing/fake-services.js';
import { KEY, startTestGateway, type TestGateway, until } from '../../../test/test-gateway.js';
import { MODEL_FACTS } from './render-models.js';

/** Facts of models, with fakes of the other services. */

let gateway: TestGateway;
afterEach(() => gateway.close());

const FIELDS = { object: 'model', id: 'test-model', created: 1_750_000_000, owned_by: 'tests' };
const PRICE = {
  ...{ version: 7, price_plan: null, input_pico_usd: '150000', cached_input_pico_usd: '15000' },
  ...{ cache_write_pico_usd: '150000', cache_write_1h_pico_usd: '150000', output_pico_usd: '600000' },
  ...{ request_pico_usd: '0', image_pico_usd: '0', steps: [], tiers: [], image_steps: [] },
};
const FACTS = {
  ...{ context_length: 4_000, max_output_tokens: 1_000, default_output_tokens: 500, input_types: ['text'], reasoning: true },
  ...{ embedding_dimensions: null, price: PRICE, announced_prices: [] },
};
const ANTHROPIC = { type: 'model', display_name: 'test-model', created_at: '2025-06-15T15:06:40.000Z' };

async function read(path: string, headers: Record<string, string> = {}): Promise<unknown> {
  return JSON.parse((await gateway.ask(path, { headers: { ...KEY, ...headers } })).text);
}

describe.each(MODEL_FACTS)('MODEL_FACTS=%s', (modelFacts) => {
  const facts = modelFacts === 'none' ? {} : FACTS;
  const factsInList = modelFacts === 'all' ? FACTS : {};
  beforeEach(async () => {
    gateway = await startTestGateway({ modelFacts });
    gateway.fakes.models = [TEST_MODEL];
    gateway.fakes.messaging.reconnect();
    await until(() => gateway.fakes.messaging.connected);
  });

  test('the single model and the list [get-models, model-object]', async () => {
    expect(await read('/v1/models/test-model')).toEqual({ ...FIELDS, ...facts });
    expect(await read('/v1/models')).toEqual({ object: 'list', data: [{ ...FIELDS, ...factsInList }] });
  });

  test('the same for clients of Anthropic', async () => {
    const headers = { 'anthropic-version': '2023-06-01' };
    expect(await read('/v1/models/test-model', headers)).toEqual({ ...FIELDS, ...ANTHROPIC, ...facts });
    const [first] = ((await read('/v1/models', headers)) as { data: object[] }).data;
    expect(first).toEqual({ ...FIELDS, ...ANTHROPIC, ...factsInList });
  });

  test('the official SDKs list and read models', async () => {
    const openai = new OpenAI({ apiKey: TEST_KEY, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
    const anthropic = new Anthropic({ apiKey: TEST_KEY, baseURL: gateway.url, maxRetries: 0 });
    for (const client of [openai, anthropic]) {
      const ids: string[] = [];
      for await (const { id } of client.models.list()) ids.push(id);
      expect([ids[0], (await client.models.retrieve('test-model')).id]).toEqual(['test-model', 'test-model']);
    }
  });
});

describe('prices', () => {
  const GOLD: PricePlan = { id: 'gold', discountPercent: '50', models: [] };
  const soon = (minutes: number): string => new Date(Date.now() + minutes * 60_000).toISOString();

  async function start(model: object, more: object, caller: object = {}): Promise<unknown> {
    gateway = await startTestGateway();
    gateway.fakes.messaging.answer(modelList, () => ({ revision: 2, models: [{ ...TEST_MODEL, ...model }], ...more }));
    gateway.fakes.messaging.answer(keyResolve, () => ({ ...TEST_CALLER, ...caller }));
    gateway.fakes.messaging.reconnect();
    await until(() => gateway.fakes.messaging.connected);
    return read('/v1/models/test-model');
  }

  const scheduled = (minutes: number, outputPicoUsd: string, version: number, model = 'test-model') => ({
    model,
    effectiveAt: soon(minutes),
    price: { ...TEST_MODEL.price, version, outputPicoUsd },
  });

  test('in force and announced are those of the plan of the account', async () => {
    const scheduledPrices = [scheduled(1, '400000', 8), scheduled(2, '1', 9, 'another'), scheduled(5, '200000', 10)];
    const half = { price_plan: 'gold', input_pico_usd: '75000', cached_input_pico_usd: '7500', cache_write_pico_usd: '75000' };
    const gold = { ...PRICE, ...half, cache_write_1h_pico_usd: '75000' };
    expect(await start({}, { pricePlans: [GOLD], scheduledPrices }, { pricePlan: 'gold' })).toEqual({
      ...{ ...FIELDS, ...FACTS },
      price: { ...gold, output_pico_usd: '300000' },
      announced_prices: [
        { effective_at: scheduledPrices[0]?.effectiveAt, ...gold, version: 8, output_pico_usd: '200000' },
        { effective_at: scheduledPrices[2]?.effectiveAt, ...gold, version: 10, output_pico_usd: '100000' },
      ],
    });
  });

  test('a change of the plan is announced, with the list price of its time', async () => {
    const scheduledPrices = [scheduled(1, '400000', 8), scheduled(9, '200000', 9)];
    const nextPricePlan = { pricePlan: 'gold', from: soon(5) };
    expect(await start({}, { pricePlans: [GOLD], scheduledPrices }, { nextPricePlan })).toMatchObject({
      price: { version: 7, price_plan: null, output_pico_usd: '600000' },
      announced_prices: [
        { effective_at: scheduledPrices[0]?.effectiveAt, version: 8, price_plan: null, output_pico_usd: '400000' },
        { effective_at: nextPricePlan.from, version: 8, price_plan: 'gold', output_pico_usd: '200000' },
        { effective_at: scheduledPrices[1]?.effectiveAt, version: 9, price_plan: 'gold', output_pico_usd: '100000' },
      ],
    });
  });

  test('rules of a price are there in full', async () => {
    const steps = [{ above: 1_000, reprices: 'whole', inputPicoUsd: '300000', cachedInputPicoUsd: '30000' }];
    const imageSteps = [{ aboveBytes: 1_000, imagePicoUsd: '5' }];
    const price = { ...TEST_MODEL.price, requestPicoUsd: '3', imagePicoUsd: '4', steps, imageSteps };
    const step = {
      input_pico_usd: '300000',
      cached_input_pico_usd: '30000',
      cache_write_pico_usd: '300000',
      cache_write_1h_pico_usd: '300000',
    };
    expect(await start({ price }, {})).toMatchObject({
      price: {
        ...{ ...PRICE, request_pico_usd: '3', image_pico_usd: '4' },
        steps: [{ above: 1_000, reprices: 'whole', ...step, output_pico_usd: null }],
        image_steps: [{ above_bytes: 1_000, image_pico_usd: '5' }],
      },
    });
  });
});
