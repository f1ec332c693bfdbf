import { stringify } from 'yaml';
import { type Price, parseUsdPerMillionTokens } from '#money/price.js';
import { type SimServer, startSimServer } from '../../../apps/upstream-sim/src/sim-server.js';
import { DIALECTS, type Dialect, type SimModel } from './scenario.js';

/** No two prices are alike, so that one taken for another shows. */
const LIST_PRICES: Record<SimModel, { inputUsdPerMTok: string; cachedInputUsdPerMTok: string; outputUsdPerMTok: string }> = {
  'sim-fast': { inputUsdPerMTok: '0.15', cachedInputUsdPerMTok: '0.015', outputUsdPerMTok: '0.60' },
  'sim-reason': { inputUsdPerMTok: '0.55', cachedInputUsdPerMTok: '0.14', outputUsdPerMTok: '2.19' },
  'sim-vision': { inputUsdPerMTok: '0.40', cachedInputUsdPerMTok: '0.04', outputUsdPerMTok: '1.60' },
};

export type Upstreams = Record<Dialect, SimServer>;

/** A simulator for each dialect, so that it is seen who was asked what. */
export async function startUpstreams(): Promise<Upstreams> {
  const started = DIALECTS.map(async (dialect) => [dialect, await startSimServer({ host: '127.0.0.1', port: 0, record: true })] as const);
  return Object.fromEntries(await Promise.all(started)) as Upstreams;
}

/** Every model once for each dialect. */
export function catalogOf(upstreams: Upstreams): string {
  return stringify({
    upstreams: DIALECTS.map((kind) => ({
      id: kind,
      kind,
      baseUrl: `${upstreams[kind].url}/v1`,
      allowPrivateNetwork: true,
      capabilities: kind === 'openai-responses' ? { reasoningSummary: true } : {},
    })),
    models: Object.entries(LIST_PRICES).flatMap(([model, price]) =>
      DIALECTS.map((upstream) => ({
        id: modelAt(model as SimModel, upstream),
        ownedBy: 'tollgate',
        contextTokens: 131_072,
        maxOutputTokens: 8_192,
        input: model === 'sim-vision' ? ['text', 'image'] : ['text'],
        reasoning: model === 'sim-reason',
        price,
        routes: [{ upstream, model }],
      })),
    ),
  });
}

/** The catalog's name of a model that runs at the upstream of this dialect. */
export function modelAt(model: SimModel, dialect: Dialect): string {
  return `${model}-${dialect}`;
}

export function priceOf(model: SimModel): Price {
  const { inputUsdPerMTok, cachedInputUsdPerMTok, outputUsdPerMTok } = LIST_PRICES[model];
  return {
    inputPicoUsd: parseUsdPerMillionTokens(inputUsdPerMTok),
    cachedInputPicoUsd: parseUsdPerMillionTokens(cachedInputUsdPerMTok),
    outputPicoUsd: parseUsdPerMillionTokens(outputUsdPerMTok),
  };
}

/** What a simulator was asked (the last 100 paths), and how its requests ended, once none is open. */
export async function heardBy({ url }: SimServer): Promise<{ paths: Set<string>; started: number; aborted: number }> {
  const read = async (path: string): Promise<unknown> => (await fetch(`${url}/sim/${path}`)).json();
  const paths = new Set(((await read('requests')) as { path: string }[]).map(({ path }) => path));
  for (;;) {
    const { started = 0, aborted = 0, open } = (await read('stats')) as Record<string, number>;
    if (open === 0) return { paths, started, aborted };
  }
}

/** Resolves when the gateway has heard of the last of the models above. */
export async function untilOffered(gatewayUrl: string, apiKey: string): Promise<void> {
  for (const deadline = Date.now() + 10_000; Date.now() < deadline; ) {
    const response = await fetch(`${gatewayUrl}/v1/models`, { headers: { authorization: `Bearer ${apiKey}` } });
    const { data } = (await response.json()) as { data: { id: string }[] };
    if (data.some(({ id }) => id === modelAt('sim-vision', 'anthropic-messages'))) return;
  }
  throw new Error('the models of the pairs are not offered');
}
