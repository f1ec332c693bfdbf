import { requestShow } from '#contracts/billing/requests.js';
import { renderUsd } from '#money/pico-usd.js';
import { FaultServer, wholeReply } from '#testing/fault-server.js';
import { type CatalogEntries, offerModels, withdrawModels } from '#testing/offered-models.js';
import { catalogStack } from '#testing/stack.js';
import { MODES } from './pairs/grid.js';
import { CLIENT_FORMATS, type ClientFormat, DIALECTS } from './pairs/scenario.js';
import { joinPairedSystem, modelAt, type PairedSystem } from './pairs/upstreams.js';

/** The cost on the reply is the one in the ledger: every client format at every dialect, whole and streamed, with reasoning and cached tokens. */

let system: PairedSystem;
beforeAll(async () => {
  system = await joinPairedSystem();
});
afterAll(() => system?.leave());

const PROMPT = 'How much is this? [[sim tokens=17 reasoning=5 cached=3]]';
const REQUESTS: Record<ClientFormat, { path: string; body: object }> = {
  chat: { path: '/v1/chat/completions', body: { messages: [{ role: 'user', content: PROMPT }], max_tokens: 60 } },
  responses: { path: '/v1/responses', body: { input: PROMPT, max_output_tokens: 60 } },
  messages: { path: '/v1/messages', body: { messages: [{ role: 'user', content: PROMPT }], max_tokens: 60 } },
};

async function send(path: string, body: object, headers: Record<string, string>) {
  const response = await fetch(`${system.gatewayUrl}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${system.tenant.apiKey}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  expect([response.status, text]).toEqual([200, expect.any(String)]);
  // Without waiting: a reply is settled before its client has it.
  const { settlement } = await system.administrator.request(requestShow, { requestId: response.headers.get('x-request-id') ?? '' });
  return {
    header: response.headers.get('x-tollgate-cost'),
    inUsage: [...text.matchAll(/"cost":([^,}]+)/g)].map(([, cost]) => cost),
    recorded: renderUsd(BigInt(settlement?.costPicoUsd ?? -1)),
  };
}

const cases = CLIENT_FORMATS.flatMap((client) => DIALECTS.flatMap((dialect) => MODES.map((mode) => ({ client, dialect, mode }))));

test.each(cases)('$client at $dialect, $mode: the cost is that of the ledger', async ({ client, dialect, mode }) => {
  const { path, body } = REQUESTS[client];
  const sent = { model: modelAt('sim-reason', dialect), ...body, stream: mode === 'streamed' };
  const asked = await send(path, sent, { 'x-tollgate-include': 'cost' });
  const header = mode === 'plain' ? asked.recorded : null;
  expect(asked).toEqual({ header, inUsage: [asked.recorded], recorded: expect.stringMatching(/^0\.0000\d+$/) });
  // An upstream that knows the prompt by now has another price for it: each reply has its own cost.
  const unasked = await send(path, sent, {});
  expect(unasked).toEqual({ header: mode === 'plain' ? unasked.recorded : null, inUsage: [], recorded: expect.any(String) });
});

test('embeddings: the cost is that of the ledger', async () => {
  const upstream = await FaultServer.start();
  upstream.behave(({ socket }) => {
    const data = [{ object: 'embedding', index: 0, embedding: [1, 2] }];
    socket.write(wholeReply(JSON.stringify({ object: 'list', data, usage: { prompt_tokens: 3, total_tokens: 3 } })));
  });
  const id = 'embeddings-cost';
  const baseUrl = `http://127.0.0.1:${upstream.port}/v1`;
  const price = { inputUsdPerMTok: '0.020001', cachedInputUsdPerMTok: '0.02', outputUsdPerMTok: '0' };
  const upstreamEntry = { id, kind: 'openai-chat', baseUrl, allowPrivateNetwork: true };
  const modelEntry = { id, ownedBy: 'tests', contextTokens: 1_000, embeddingDimensions: 2, price, routes: [{ upstream: id, model: id }] };
  const entries: CatalogEntries = { upstreams: [upstreamEntry], models: [modelEntry] };
  await offerModels(system.administrator, catalogStack(), system.tenant.apiKey, entries);
  try {
    const [asked, unasked] = await Promise.all([
      send('/v1/embeddings', { model: id, input: 'abc' }, { 'x-tollgate-include': 'cost' }),
      send('/v1/embeddings', { model: id, input: 'abc' }, {}),
    ]);
    const recorded = '0.000000060003';
    expect([asked, unasked]).toEqual([
      { header: recorded, inUsage: [recorded], recorded },
      { header: recorded, inUsage: [], recorded },
    ]);
  } finally {
    await withdrawModels(system.administrator, entries);
    await upstream.stop();
  }
});
