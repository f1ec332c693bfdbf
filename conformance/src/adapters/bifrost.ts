import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Model, routeUrl } from '../models.ts';
import { dollars, type PriceList } from '../money/terms.ts';
import type { Adapter, Product, Surroundings, Wallet } from './adapter.ts';
import { callApi, freePort, readDollars, startProgram } from './program.ts';

const START_MS = 120_000;

interface VirtualKey {
  id: string;
  value: string;
  budgets?: { current_usage: number }[];
}

/** Bifrost from npm, with its configuration in SQLite, so that virtual keys and prices can be made while it runs. */
export const bifrost: Adapter = {
  name: 'bifrost',
  about: 'Bifrost, started by npx @maximhq/bifrost, with budgets of virtual keys',
  notRunHere: 'written from its public documents',
  reasons: {
    'repeated settlement': 'its bills are not made by messages that could be repeated',
    'hidden output': 'it has no setting for an upstream that hides output',
  },
  start,
};

async function start({ folder, upstreamOrigin, models, prices }: Surroundings): Promise<Product> {
  const port = await freePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  writeFileSync(join(folder, 'config.json'), JSON.stringify(makeConfig(upstreamOrigin, models, prices)));
  const program = await startProgram({
    command: 'npx',
    args: ['-y', '@maximhq/bifrost', '-app-dir', folder, '-port', String(port)],
    url: `${baseUrl}/health`,
    readyMs: START_MS,
  });
  const governance = `${baseUrl}/api/governance`;
  return {
    baseUrl,
    address: (client, model) => {
      if (model.hidesOutput) return undefined;
      const [first, ...others] = Array.from({ length: model.routes }, (_, route) => `${model.id}-${route}/${model.id}`);
      return {
        model: first ?? model.id,
        ...(client === 'messages' && { path: '/anthropic/v1/messages' }),
        ...(others.length > 0 && { fields: { fallbacks: others } }),
      };
    },
    openWallet: async (picoUsd) => {
      const budgets = [{ max_limit: Number(dollars(picoUsd)), reset_duration: '1M' }];
      const made = await callApi(`${governance}/virtual-keys`, {
        body: { name: `kit ${crypto.randomUUID()}`, allow_all_providers: true, is_active: true, budgets },
      });
      const { id, value } = made.virtual_key as VirtualKey;
      const wallet: Wallet & { id: string } = {
        ...{ id, key: value },
        read: async () => {
          const shown = await callApi(`${governance}/virtual-keys/${id}`);
          const { budgets: used = [] } = shown.virtual_key as VirtualKey;
          return { spentPicoUsd: readDollars(used[0]?.current_usage ?? 0), heldPicoUsd: null };
        },
      };
      return wallet;
    },
    setBudget: async (wallet, picoUsd) => {
      const { id } = wallet as Wallet & { id: string };
      await callApi(`${governance}/virtual-keys/${id}`, {
        method: 'PUT',
        body: { budgets: [{ max_limit: Number(dollars(picoUsd)), reset_duration: '1M' }] },
      });
    },
    changePrices: async (model, changed) => {
      await callApi(`${governance}/pricing-overrides/${model.id}`, { method: 'PUT', body: { patch: makePatch(changed) } });
    },
    processes: ['bifrost'],
    kill: program.restart,
    waits: { settledMs: 30_000, noticedMs: 2_000, meteredMs: 0, recoveredMs: 30_000 },
    stop: program.stop,
  };
}

/** One provider a route, and one price a model. */
function makeConfig(origin: string, models: readonly Model[], prices: PriceList): object {
  const routes = models.flatMap((model) => Array.from({ length: model.routes }, (_, route) => ({ model, route })));
  const providers = Object.fromEntries(
    routes.map(({ model, route }) => [
      `${model.id}-${route}`,
      {
        keys: [{ name: `${model.id}-${route}`, value: 'kit', models: ['*'], weight: 1 }],
        network_config: { base_url: routeUrl(origin, model, route).replace(/\/v1$/, '') },
        custom_provider_config: { base_provider_type: model.format === 'messages' ? 'anthropic' : 'openai' },
      },
    ]),
  );
  const overrides = models.map(({ id }) => ({
    ...{ id, name: id, scope_kind: 'global', match_type: 'exact', pattern: id },
    request_types: ['chat_completion', 'responses'],
    pricing_patch: JSON.stringify(makePatch(prices)),
  }));
  return {
    providers,
    client: { enforce_auth_on_inference: true },
    governance: { pricing_overrides: overrides },
    config_store: { enabled: true, type: 'sqlite', config: { path: 'config.db' } },
  };
}

function makePatch({ inputPicoUsd, cachedInputPicoUsd, outputPicoUsd }: PriceList): object {
  return {
    input_cost_per_token: Number(dollars(inputPicoUsd)),
    cache_read_input_token_cost: Number(dollars(cachedInputPicoUsd)),
    output_cost_per_token: Number(dollars(outputPicoUsd)),
  };
}
