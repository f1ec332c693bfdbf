import type { UPSTREAM_KINDS } from '#contracts/catalog.js';
import type { CatalogEntries } from '#testing/offered-models.js';
import { type SimServer, startSimServer } from '../../../apps/upstream-sim/src/sim-server.js';

/** A model at a simulator of its own, which records requests. */
interface Route {
  model: string;
  kind: (typeof UPSTREAM_KINDS)[number];
  capabilities?: Record<string, boolean>;
}

export const ROUTES = [
  { model: 'round-trip-chat', kind: 'openai-chat' },
  { model: 'round-trip-responses', kind: 'openai-responses' },
  { model: 'round-trip-messages', kind: 'anthropic-messages' },
  { model: 'round-trip-gemini', kind: 'gemini' },
  { model: 'round-trip-converse', kind: 'bedrock-converse' },
  { model: 'round-trip-echo', kind: 'openai-chat', capabilities: { reasoningEcho: true } },
] as const satisfies Route[];

export type RoutedModel = (typeof ROUTES)[number]['model'];
export type Upstreams = Record<RoutedModel, SimServer>;

export async function startUpstreams(): Promise<Upstreams> {
  const started = ROUTES.map(async ({ model }) => [model, await startSimServer({ host: '127.0.0.1', port: 0, record: true })] as const);
  return Object.fromEntries(await Promise.all(started)) as Upstreams;
}

/** The catalog entries of `ROUTES`. */
export function listEntries(upstreams: Upstreams): CatalogEntries {
  const ours = (ROUTES as readonly Route[]).map(({ model, kind, capabilities = {} }) => ({
    upstream: { id: model, kind, baseUrl: `${upstreams[model as RoutedModel].url}/v1`, allowPrivateNetwork: true, capabilities },
    model: {
      id: model,
      ownedBy: 'tollgate',
      contextTokens: 131_072,
      maxOutputTokens: 8_192,
      input: ['text'],
      price: { inputUsdPerMTok: '0.15', cachedInputUsdPerMTok: '0.015', outputUsdPerMTok: '0.60' },
      routes: [{ upstream: model, model: 'sim-fast' }],
    },
  }));
  return { upstreams: ours.map(({ upstream }) => upstream), models: ours.map(({ model }) => model) };
}

/** Request bodies of an upstream since the last call, in order. */
export async function takePrompts({ url }: SimServer): Promise<unknown[]> {
  const requests = (await (await fetch(`${url}/sim/requests`)).json()) as { body: unknown }[];
  await fetch(`${url}/sim/requests`, { method: 'DELETE' });
  return requests.map(({ body }) => body);
}
