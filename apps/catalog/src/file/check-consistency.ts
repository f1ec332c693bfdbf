import { isDeepStrictEqual } from 'node:util';
import type { Upstream, UpstreamCapabilities } from '#contracts/catalog.js';
import { DIALECTS, EMBEDDING_KINDS } from '#contracts/dialects.js';
import { TOKENS_MAX } from '#contracts/rules/bounds.js';
import { findPriceFaults } from '#contracts/rules/price-rules.js';
import { authFault } from '#contracts/upstream-auth.js';
import { pathFault, renderPath } from '#contracts/upstream-request.js';
import type { CatalogFileEntry, ModelEntry, PriceEntry, PricePlanEntry, ServiceEntry, UpstreamEntry } from './catalog-file.schema.js';
import type { Path } from './locate.js';

export interface FieldProblem {
  path: Path;
  problem: string;
}

/** Places (`describePlace`) of the upstreams that may have `allowPrivateNetwork`, by id. */
export type PrivateUpstreams = ReadonlyMap<string, string>;

/** Everything that decides what is called at an upstream. */
export function describePlace({
  baseUrl,
  auth,
  proxy,
  path,
  query,
  headers,
  body,
  kind,
  healthCheck,
}: Partial<Pick<Upstream, 'baseUrl' | 'auth' | 'proxy' | 'path' | 'query' | 'headers' | 'body' | 'kind' | 'healthCheck'>>): string {
  const sorted = (group: object | null | undefined): unknown =>
    Object.entries(group ?? {}).sort(([one], [other]) => (one < other ? -1 : 1));
  const added = [query, headers, body, auth].map(sorted);
  return JSON.stringify([baseUrl, proxy ?? null, path ?? null, ...added, kind, healthCheck?.path ?? null]);
}

/**
 * Checks rules between fields: duplicate ids, routes to unknown upstreams, contradicting limits. Also runs on files with invalid fields, so
 * that all faults are reported at once; it skips values of the wrong type.
 */
export function checkConsistency(file: CatalogFileEntry, privateUpstreams?: PrivateUpstreams): FieldProblem[] {
  const upstreams = toList(file.upstreams);
  const models = toList(file.models);
  const plans = toList(file.pricePlans);
  const services = toList(file.services);
  const byId = new Map(upstreams.map((upstream) => [upstream.id, upstream]));
  const modelIds = new Set(models.map((model) => model.id));
  return [
    ...repeated(upstreams, ['upstreams']),
    ...repeated(models, ['models']),
    ...repeated(plans, ['pricePlans']),
    ...upstreams.flatMap((upstream, index) => secrets(upstream, ['upstreams', index])),
    ...upstreams.flatMap(({ kind, capabilities }, index) => caches(kind, capabilities, ['upstreams', index])),
    ...upstreams.flatMap((upstream, index) => privateNetwork(upstream, ['upstreams', index], privateUpstreams)),
    ...models.flatMap((model, index) => [...limits(model, ['models', index]), ...routes(model, ['models', index], byId)]),
    ...models.flatMap((model, index) => [...prices(model.price, ['models', index, 'price']), ...costs(model, ['models', index, 'routes'])]),
    ...plans.flatMap((plan, index) => planModels(plan, ['pricePlans', index], modelIds)),
    ...repeated(services, ['services']),
    ...services.flatMap((service, index) => items(service, ['services', index], modelIds)),
  ];
}

function repeated(entries: readonly { id: unknown }[], list: Path): FieldProblem[] {
  const first = new Map<unknown, number>();
  return entries.flatMap(({ id }, index) => {
    const earlier = first.get(id);
    if (earlier === undefined || typeof id !== 'string') {
      first.set(id, index);
      return [];
    }
    return [{ path: [...list, index, 'id'], problem: `${JSON.stringify(id)} is already the id of ${list.at(-1)}[${earlier}]` }];
  });
}

function secrets({ baseUrl, apiKeyEnv, apiKeyFile, auth, tls, headers }: UpstreamEntry, path: Path): FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (apiKeyEnv !== undefined && apiKeyFile !== undefined) {
    problems.push({ path: [...path, 'apiKeyFile'], problem: 'cannot stand beside apiKeyEnv; an upstream has one key' });
  }
  if (auth != null && (apiKeyEnv !== undefined || apiKeyFile !== undefined)) {
    problems.push({ path: [...path, 'auth'], problem: 'cannot stand beside apiKeyEnv or apiKeyFile; an upstream has one key' });
  }
  const keyHeader = authFault(auth) === undefined && auth?.kind === 'header' ? auth.name.toLowerCase() : 'authorization';
  if (auth != null && Object.keys(headers ?? {}).some((name) => name.toLowerCase() === keyHeader)) {
    problems.push({ path: [...path, 'headers'], problem: `must not have ${keyHeader}: auth sets it` });
  }
  if (tls === undefined || tls === null) return problems;
  if ((tls.certFile === undefined) !== (tls.keyFile === undefined)) {
    problems.push({ path: [...path, 'tls'], problem: 'must have certFile and keyFile together' });
  }
  if (typeof baseUrl === 'string' && !/^https:/i.test(baseUrl)) {
    problems.push({ path: [...path, 'tls'], problem: 'is for a baseUrl that begins with https://' });
  }
  return problems;
}

function privateNetwork(upstream: UpstreamEntry, path: Path, allowed?: PrivateUpstreams): FieldProblem[] {
  if (upstream.allowPrivateNetwork !== true || allowed === undefined || allowed.get(upstream.id) === describePlace(upstream)) return [];
  const problem =
    'can be set, or its baseUrl, auth, proxy, path, query, headers, body, kind or health check changed, with the command line alone: PANEL_PRIVATE_NETWORK is off';
  return [{ path: [...path, 'allowPrivateNetwork'], problem }];
}

/** A setting of another dialect would be refused by the upstream, or do nothing. */
function caches(kind: Upstream['kind'] | undefined, capabilities: Partial<UpstreamCapabilities> | undefined, path: Path): FieldProblem[] {
  const dialect = kind && DIALECTS[kind];
  if (dialect === undefined) return [];
  const { cacheKey, promptCache } = capabilities ?? {};
  const problems: FieldProblem[] = [];
  if (cacheKey != null && cacheKey !== 'none' && !dialect.cacheKeys.includes(cacheKey)) {
    const allowed = `${dialect.cacheKeys.join(', ')} or none`;
    problems.push({ path: [...path, 'capabilities', 'cacheKey'], problem: `must be ${allowed} for ${kind}` });
  }
  if (!dialect.cachesMarked && (promptCache === 'off' || promptCache === '1h')) {
    problems.push({ path: [...path, 'capabilities', 'promptCache'], problem: `is for dialects with markers; ${kind} caches by itself` });
  }
  return problems;
}

function limits(model: ModelEntry, path: Path): FieldProblem[] {
  const { contextTokens, maxOutputTokens, defaultOutputTokens } = model;
  if (model.embeddingDimensions != null) return embeddings(model, path);
  if (maxOutputTokens === undefined) {
    if (Object.keys(model).length === 0) return []; // no group of fields
    return [{ path: [...path, 'maxOutputTokens'], problem: `is missing (must be a whole number from 1 to ${TOKENS_MAX})` }];
  }
  const problems: FieldProblem[] = [];
  if (maxOutputTokens > contextTokens) {
    problems.push({ path: [...path, 'maxOutputTokens'], problem: `must not be above contextTokens (${contextTokens})` });
  }
  if (defaultOutputTokens !== undefined && defaultOutputTokens > maxOutputTokens) {
    problems.push({ path: [...path, 'defaultOutputTokens'], problem: `must not be above maxOutputTokens (${maxOutputTokens})` });
  }
  return problems;
}

/** Vectors are all that a model for embeddings returns. */
function embeddings(model: ModelEntry, path: Path): FieldProblem[] {
  const problems = (['maxOutputTokens', 'defaultOutputTokens'] as const)
    .filter((field) => model[field] !== undefined)
    .map((field) => ({ path: [...path, field], problem: 'is for models that write; one for embeddings has no output' }));
  if (Array.isArray(model.input) && model.input.includes('image')) {
    problems.push({ path: [...path, 'input'], problem: 'must be [text] for embeddings' });
  }
  return problems;
}

function prices(price: PriceEntry | undefined, path: Path): FieldProblem[] {
  return findPriceFaults(price ?? {}).map((fault) => ({ path: [...path, ...fault.path], problem: fault.problem }));
}

/** Usage is counted by model and upstream, so a model has one cost price at an upstream. */
function costs(model: ModelEntry, path: Path): FieldProblem[] {
  const first = new Map<unknown, number>();
  const routes = toList(model.routes);
  return routes.flatMap(({ upstream, cost }, index) => {
    const faults = prices(cost, [...path, index, 'cost']);
    const earlier = first.get(upstream) ?? index;
    first.set(upstream, earlier);
    if (isDeepStrictEqual(routes[earlier]?.cost, cost)) return faults;
    return [...faults, { path: [...path, index, 'cost'], problem: `must be that of routes[${earlier}], which has the same upstream` }];
  });
}

function routes(model: ModelEntry, path: Path, upstreams: ReadonlyMap<string, UpstreamEntry>): FieldProblem[] {
  const first = new Map<string, number>();
  return toList(model.routes).flatMap((route, index) => {
    const { upstream } = route;
    const here = [...path, 'routes', index];
    if (typeof upstream === 'string' && !upstreams.has(upstream)) {
      return [{ path: [...here, 'upstream'], problem: `${JSON.stringify(upstream)} is not the id of an upstream` }];
    }
    const template = upstreams.get(upstream)?.path;
    if (pathFault(template) === undefined && typeof route.model === 'string' && renderPath(template as string, route.model) === undefined) {
      return [{ path: [...here, 'model'], problem: `would lead out of the path of ${JSON.stringify(upstream)}` }];
    }
    const target = JSON.stringify([upstream, route.model]);
    const earlier = first.get(target);
    const kind = upstreams.get(upstream)?.kind;
    if (model.embeddingDimensions != null && kind !== undefined && !EMBEDDING_KINDS.includes(kind)) {
      return [{ path: [...here, 'upstream'], problem: `must be of kind ${EMBEDDING_KINDS.join(' or ')}: the model is for embeddings` }];
    }
    if (earlier === undefined) {
      first.set(target, index);
      return caches(kind, route.capabilities, here);
    }
    return [{ path: here, problem: `repeats routes[${earlier}]; give that one more weight instead` }];
  });
}

/** A misspelt id would leave the model at the discount. */
function planModels({ models }: PricePlanEntry, path: Path, modelIds: ReadonlySet<string>): FieldProblem[] {
  const entries = toList(models);
  const unknown = entries.flatMap(({ id }, index) =>
    typeof id !== 'string' || modelIds.has(id)
      ? []
      : [{ path: [...path, 'models', index, 'id'], problem: `${JSON.stringify(id)} is not the id of a model` }],
  );
  const priced = entries.flatMap(({ price }, index) => prices(price, [...path, 'models', index, 'price']));
  return [...repeated(entries, [...path, 'models']), ...unknown, ...priced];
}

/** Items and models share the places where their ids stand. */
function items(service: ServiceEntry, path: Path, modelIds: ReadonlySet<string>): FieldProblem[] {
  const entries = toList(service.items);
  const taken = entries.flatMap(({ id }, index) => {
    const name = `${service.id}/${id}`;
    return modelIds.has(name) ? [{ path: [...path, 'items', index, 'id'], problem: `${JSON.stringify(name)} is the id of a model` }] : [];
  });
  return [...repeated(entries, [...path, 'items']), ...taken];
}

/** Returns the entries, undefined for those that are no mapping; empty when the value is no list. */
function toList<Entry extends object>(value: Entry[] | undefined): Entry[] {
  if (!Array.isArray(value)) return [];
  return value.map((entry) => (typeof entry === 'object' && entry !== null ? entry : ({} as Entry)));
}
