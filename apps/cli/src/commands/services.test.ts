import { serviceList } from '#contracts/billing/services.js';
import { modelList } from '#contracts/catalog.js';
import type { Endpoint } from '#contracts/endpoint.js';
import type { Messaging } from '#messaging/messaging.js';
import { serviceCommands } from './services.js';

const DAY = '2027-01-31T00:00:00.000Z';
const NO_TOKENS = { inputPicoUsd: '0', cachedInputPicoUsd: '0', outputPicoUsd: '0' };
const CRAWLER = {
  ...{ id: 'crawler', holdMaxPicoUsd: '1000000000000', dayMaxPicoUsd: '20000000000000', openHoldsMax: null },
  items: [{ id: 'crawler/page', displayName: null, unit: 'page', price: { version: 3, ...NO_TOKENS, requestPicoUsd: '2000000000' } }],
};

function run(offered: object[] | undefined, used: object[], json = false): Promise<{ text: string }> {
  const replies = new Map<Endpoint<never, unknown>, unknown>([
    [modelList as never, { models: [], ...(offered && { services: offered }) }],
    [serviceList as never, { services: used }],
  ]);
  const messaging = { request: async (endpoint: never) => replies.get(endpoint) } as unknown as Messaging;
  const [command] = serviceCommands;
  return command?.run(
    {},
    json,
    async () => messaging,
    () => undefined,
  ) as Promise<{ text: string }>;
}

test('services are listed with what is used of their ceilings, and their items with prices', async () => {
  const use = { day: DAY, spentPicoUsd: '14000000000', heldPicoUsd: '0', openHolds: 2 };
  const { text } = await run([CRAWLER], [{ service: 'crawler', ...use }]);
  expect(text.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
    ['SERVICE', 'SPENT TODAY', 'HELD', 'MOST A DAY', 'MOST A HOLD', 'OPEN', 'MOST OPEN'],
    ['crawler', '$0.014', '$0.00', '$20.00', '$1.00', '2', '-'],
    [''],
    ['ITEM', 'NAME', 'UNIT', 'PRICE A UNIT', 'VERSION'],
    ['crawler/page', '-', 'page', '$0.002', '3'],
  ]);
  expect(JSON.parse((await run([CRAWLER], [{ service: 'crawler', ...use }], true)).text)).toEqual({ services: [{ ...CRAWLER, use }] });
});

test('a service without a hold has used nothing, and one that is gone is shown while it holds money', async () => {
  const none = { day: DAY, spentPicoUsd: '0', heldPicoUsd: '0', openHolds: 0 };
  const { text } = await run(
    [CRAWLER],
    [
      { service: 'gone', ...none, openHolds: 1 },
      { service: 'old', ...none },
    ],
    true,
  );
  expect((JSON.parse(text) as { services: { id: string; use: object }[] }).services.map(({ id, use }) => [id, use])).toEqual([
    ['crawler', null],
    ['gone', { ...none, openHolds: 1 }],
  ]);
});

test('a catalog without services has none', async () => {
  expect((await run(undefined, [])).text).toBe('no services');
});
