import { randomBytes } from 'node:crypto';
import type { Messaging } from '#messaging/messaging.js';
import { type Price, parseUsdPerMillionTokens } from '#money/price.js';
import { type CatalogEntries, offerModels, withdrawModels } from '#testing/offered-models.js';
import { catalogStack } from '#testing/stack.js';
import { connectAdministrator, createTenant, type Tenant } from '#testing/tenant.js';
import { type SimServer, startSimServer } from '../../../apps/upstream-sim/src/sim-server.js';
import { type Case, everyCase, MODES, type Mode, SCENARIOS } from './grid.js';
import { DIALECTS, type Dialect, type SimModel } from './scenario.js';

/** All prices differ, so that a mix-up shows. */
const LIST_PRICES: Record<SimModel, { inputUsdPerMTok: string; cachedInputUsdPerMTok: string; outputUsdPerMTok: string }> = {
  'sim-fast': { inputUsdPerMTok: '0.15', cachedInputUsdPerMTok: '0.015', outputUsdPerMTok: '0.60' },
  'sim-reason': { inputUsdPerMTok: '0.55', cachedInputUsdPerMTok: '0.14', outputUsdPerMTok: '2.19' },
  'sim-vision': { inputUsdPerMTok: '0.40', cachedInputUsdPerMTok: '0.04', outputUsdPerMTok: '1.60' },
};

export type Upstreams = Record<Dialect, SimServer>;

/** Starts a simulator for each dialect, which records its own requests. */
export async function startUpstreams(): Promise<Upstreams> {
  const started = DIALECTS.map(async (dialect) => [dialect, await startSimServer({ host: '127.0.0.1', port: 0, record: true })] as const);
  return Object.fromEntries(await Promise.all(started)) as Upstreams;
}

/** Several suites add these entries to the same catalog, each under names of its own. */
const SUITE = randomBytes(4).toString('hex');

/** The catalog entries of all models, at the upstream of each dialect. */
export function listEntries(upstreams: Upstreams): CatalogEntries {
  return {
    upstreams: DIALECTS.map((kind) => ({
      id: upstreamAt(kind),
      kind,
      baseUrl: `${upstreams[kind].url}/v1`,
      allowPrivateNetwork: true,
      // Without the line that keeps the caches of accounts apart: it would count in long prompts.
      capabilities: { reasoningSummary: true, ...(kind === 'gemini' && { cacheKey: 'none' }) },
    })),
    models: [...OFFERED].map(([id, { model, dialect }]) => ({
      id,
      ownedBy: 'tollgate',
      contextTokens: 131_072,
      maxOutputTokens: 8_192,
      input: model === 'sim-vision' ? ['text', 'image'] : ['text'],
      reasoning: model === 'sim-reason',
      price: LIST_PRICES[model],
      routes: [{ upstream: upstreamAt(dialect), model }],
    })),
  };
}

/** The shared system with the models of the pairs, and a tenant that may use them. */
export interface PairedSystem {
  gatewayUrl: string;
  upstreams: Upstreams;
  administrator: Messaging;
  tenant: Tenant;
  leave(): Promise<void>;
}

export async function joinPairedSystem(usd?: string): Promise<PairedSystem> {
  const facts = catalogStack();
  const [upstreams, administrator] = await Promise.all([startUpstreams(), connectAdministrator(facts)]);
  const tenant = await createTenant(administrator, { usd });
  const entries = listEntries(upstreams);
  await offerModels(administrator, facts, tenant.apiKey, entries);
  const leave = async (): Promise<void> => {
    await withdrawModels(administrator, entries);
    await administrator.close();
    await Promise.all(Object.values(upstreams).map((sim) => sim.close()));
  };
  return { gatewayUrl: facts.gatewayUrl, upstreams, administrator, tenant, leave };
}

/** Simulator model and dialect of each catalog model. */
const OFFERED = new Map(
  everyCase().flatMap((one) => MODES.map((mode) => [chooseModel(one, mode), { model: makeSimModel(one), dialect: one.dialect }])),
);

/** Catalog model of a case. Failing cases have models of their own, because a failed route opens its circuit. */
export function chooseModel(one: Case, mode: Mode): string {
  const { scenario, client, dialect } = one;
  const model = modelAt(makeSimModel(one), dialect);
  return scenario.failure === undefined ? model : `${model}-${client}-${mode}-failing-${SCENARIOS.indexOf(scenario)}`;
}

function makeSimModel({ scenario }: Case): SimModel {
  return scenario.ask.model ?? 'sim-fast';
}

/** Catalog name of a model at the upstream of this dialect. */
export function modelAt(model: SimModel, dialect: Dialect): string {
  return `${model}-${dialect}-${SUITE}`;
}

/** Catalog name of the upstream of this dialect. */
export function upstreamAt(dialect: Dialect): string {
  return `${dialect}-${SUITE}`;
}

export function findPrice(model: SimModel): Price {
  const { inputUsdPerMTok, cachedInputUsdPerMTok, outputUsdPerMTok } = LIST_PRICES[model];
  return {
    inputPicoUsd: parseUsdPerMillionTokens(inputUsdPerMTok),
    cachedInputPicoUsd: parseUsdPerMillionTokens(cachedInputUsdPerMTok),
    outputPicoUsd: parseUsdPerMillionTokens(outputUsdPerMTok),
  };
}

/** Waits until no request is open. Returns the last 100 paths of a simulator, and its request counts. */
export async function heardBy({ url }: SimServer): Promise<{ paths: Set<string>; started: number; aborted: number }> {
  const read = async (path: string): Promise<unknown> => (await fetch(`${url}/sim/${path}`)).json();
  const paths = new Set(((await read('requests')) as { path: string }[]).map(({ path }) => path));
  for (;;) {
    const { started = 0, aborted = 0, open } = (await read('stats')) as Record<string, number>;
    if (open === 0) return { paths, started, aborted };
  }
}
