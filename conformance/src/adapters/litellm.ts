import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { routeUrl } from '../models.ts';
import { dollars } from '../money/terms.ts';
import type { Adapter, Product, Surroundings } from './adapter.ts';
import { callApi, freePort, readDollars, startProgram } from './program.ts';

const MASTER_KEY = 'sk-kit-master';
const START_MS = 180_000;

/** LiteLLM's proxy, from PATH, with a database of the caller's: `--set database=postgresql://…`. */
export const litellm: Adapter = {
  name: 'litellm',
  about: "LiteLLM's proxy, the program litellm on PATH, with keys and spend in Postgres",
  notRunHere: 'written from its public documents',
  reasons: {
    'price change': 'prices stand in its configuration file, which is read at start',
    'repeated settlement': 'its bills are not made by messages that could be repeated',
    'hidden output': 'it has no setting for an upstream that hides output',
  },
  start,
};

async function start({ folder, settings, upstreamOrigin, models, prices }: Surroundings): Promise<Product> {
  const { database } = settings;
  if (!database) throw new Error('litellm needs --set database=postgresql://…, an empty database for its keys');
  const port = await freePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  const PROVIDERS = { chat: 'openai', responses: 'openai', messages: 'anthropic' };
  const entries = models.flatMap((model) =>
    Array.from({ length: model.routes }, (_, route) => {
      const base = routeUrl(upstreamOrigin, model, route);
      return {
        model_name: route === 0 ? model.id : `${model.id}-${route}`,
        litellm_params: {
          model: `${PROVIDERS[model.format]}/scripted`,
          // Its Anthropic provider adds /v1/messages to the address.
          api_base: model.format === 'messages' ? base.replace(/\/v1$/, '') : base,
          api_key: 'kit',
          input_cost_per_token: Number(dollars(prices.inputPicoUsd)),
          cache_read_input_token_cost: Number(dollars(prices.cachedInputPicoUsd)),
          output_cost_per_token: Number(dollars(prices.outputPicoUsd)),
        },
      };
    }),
  );
  const fallbacks = models.filter(({ routes }) => routes > 1).map(({ id }) => ({ [id]: [`${id}-1`] }));
  const file = join(folder, 'litellm.yaml');
  // JSON is YAML.
  writeFileSync(
    file,
    JSON.stringify({
      model_list: entries,
      router_settings: { fallbacks },
      general_settings: { master_key: MASTER_KEY, database_url: database },
    }),
  );
  const program = await startProgram({
    command: 'litellm',
    args: ['--config', file, '--host', '127.0.0.1', '--port', String(port)],
    url: `${baseUrl}/health/liveliness`,
    readyMs: START_MS,
  });
  return {
    baseUrl,
    address: (client, model) => (model.hidesOutput || (client !== 'chat' && model.format !== client) ? undefined : { model: model.id }),
    openWallet: async (picoUsd) => {
      const { key } = await callApi(`${baseUrl}/key/generate`, { key: MASTER_KEY, body: { max_budget: Number(dollars(picoUsd)) } });
      return {
        key: String(key),
        read: async () => {
          const { info } = await callApi(`${baseUrl}/key/info?key=${key}`, { key: MASTER_KEY });
          return { spentPicoUsd: readDollars((info as { spend: number }).spend), heldPicoUsd: null };
        },
      };
    },
    setBudget: async ({ key }, picoUsd) => {
      await callApi(`${baseUrl}/key/update`, {
        key: MASTER_KEY,
        body: { key, max_budget: Number(dollars(picoUsd)), budget_duration: '30d' },
      });
    },
    processes: ['litellm'],
    kill: program.restart,
    // It writes spend to its database in batches, a minute apart at most.
    waits: { settledMs: 90_000, noticedMs: 2_000, meteredMs: 0, recoveredMs: 90_000 },
    stop: program.stop,
  };
}
