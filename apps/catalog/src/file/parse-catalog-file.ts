// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the notation of the catalog file
import { plainToInstance } from 'class-transformer';
import { type ValidationError, validateSync } from 'class-validator';
import type { CatalogModel, CatalogService, PricePlan, Route, Upstream } from '#contracts/catalog.js';
import { parseListPrices } from '#money/list-prices.js';
import { parseUsd } from '#money/pico-usd.js';
import type { Price } from '#money/price.js';
import { renderPriceText } from '#money/price-plan.js';
import { CatalogFileEntry, type ModelEntry, type PricePlanEntry, type ServiceEntry, type UpstreamEntry } from './catalog-file.schema.js';
import { CatalogFileError, type Fault } from './catalog-file-error.js';
import { checkConsistency, type FieldProblem, type PrivateUpstreams } from './check-consistency.js';
import { findLine, type Path, renderPath } from './locate.js';
import { readYaml, type YamlFile } from './read-yaml.js';
import { FIELDS_EXPECTED } from './rules.js';
import { substitute, type Variables } from './substitute.js';

/** The content of a catalog file with its defaults filled in, except `created`, whose default is what is stored. */
export interface WantedCatalog {
  upstreams: WantedUpstream[];
  models: WantedModel[];
  pricePlans: WantedPricePlan[];
  services: WantedService[];
}

/** The routes of a disabled upstream get no requests. */
export type WantedUpstream = Upstream & { enabled: boolean };

export interface WantedModel extends Omit<CatalogModel, 'created' | 'price' | 'reasoningEcho'> {
  /** Unix seconds. Null: keep the stored value, or take the time of the first apply. */
  created: number | null;
  enabled: boolean;
  price: Price;
  routes: Route[];
  /** Name of one unit of an item of a service, `ownedBy`. Null: it is a model. */
  unit: string | null;
}

/** A service that the file no longer names is disabled, as the other entries are. Its items are among the models. */
export type WantedService = CatalogService & { enabled: boolean };

/** A plan that the file no longer names is disabled, as the other entries are. */
export type WantedPricePlan = PricePlan & { enabled: boolean };

const DEFAULT_OUTPUT_TOKENS_MAX = 4_096;
/** `maxOutputTokens` of a model for embeddings: the least that the database takes. Nothing reads it. */
const NO_OUTPUT_TOKENS = 1;

/** The fields of a catalog. */
const FIELDS: readonly string[] = ['upstreams', 'models', 'pricePlans', 'services'] satisfies (keyof CatalogFileEntry)[];

/** Problems that get a line. Looking it up passes through the document, and a text that is no catalog has a problem in every field. */
const LOOKED_UP_MAX = 200;

/**
 * Parses the YAML text of a whole catalog. With `privateUpstreams`, only these may have `allowPrivateNetwork`.
 * @throws {CatalogFileError} with every fault by file, line and field, or with the syntax errors alone.
 */
export function parseCatalogFile(text: string, fileName: string, variables: Variables, privateUpstreams?: PrivateUpstreams): WantedCatalog {
  const { file, entry, problems: own } = readEntry(text, fileName, variables);
  const problems = [...own, ...checkConsistency(entry, privateUpstreams)];
  if (problems.length > 0) throw fileError(problems, fileName, file);
  return { upstreams: entry.upstreams.map(toUpstream), ...toPrices(entry), services: entry.services.map(toService) };
}

/**
 * Reads the prices of a text that was applied once. Its upstreams may break the rules of this version, and refer to variables that are gone.
 * @throws {CatalogFileError} when the rest breaks a rule.
 */
export function parseStoredPrices(text: string, fileName: string): Pick<WantedCatalog, 'models' | 'pricePlans'> {
  const { file, entry, problems } = readEntry(text, fileName, () => undefined);
  const faults = [...problems, ...checkConsistency(entry)].filter(({ path }) => path[0] !== 'upstreams');
  if (faults.length > 0) throw fileError(faults, fileName, file);
  return toPrices(entry);
}

function toPrices({ models, pricePlans, services }: CatalogFileEntry): Pick<WantedCatalog, 'models' | 'pricePlans'> {
  return { models: [...models.map(toModel), ...services.flatMap(toItems)], pricePlans: pricePlans.map(toPlan) };
}

/** Reads the fields, and finds the problems of each alone. */
function readEntry(
  text: string,
  fileName: string,
  variables: Variables,
): { file: YamlFile; entry: CatalogFileEntry; problems: FieldProblem[] } {
  const file = readYaml(text, fileName);
  const { known, problems: unknown } = knownFields(file.plain);
  const references = [...strayReferences(known), ...substituteBaseUrls(known, variables)];
  const entry = plainToInstance(CatalogFileEntry, known);
  const ruled = flatten(validateSync(entry, { whitelist: true, forbidNonWhitelisted: true, stopAtFirstError: true }));
  return { file, entry, problems: [...unknown, ...references, ...ruled] };
}

/** Leaves out unknown fields before the others are copied. */
function knownFields(plain: object): { known: { upstreams?: unknown }; problems: FieldProblem[] } {
  const fields = Object.entries(plain);
  const known = Object.fromEntries(fields.filter(([name]) => FIELDS.includes(name)));
  const problems = fields.flatMap(([name]) => (FIELDS.includes(name) ? [] : [{ path: [name], problem: NO_FIELD }]));
  return { known, problems };
}

/** Substitutes environment variables in `upstreams[].baseUrl`, the only field that may refer to them. */
function substituteBaseUrls(plain: { upstreams?: unknown }, variables: Variables): FieldProblem[] {
  if (!Array.isArray(plain.upstreams)) return [];
  return plain.upstreams.flatMap((upstream: { baseUrl?: unknown } | null, index) => {
    if (typeof upstream?.baseUrl !== 'string') return [];
    const result = substitute(upstream.baseUrl, variables);
    if ('problem' in result) {
      upstream.baseUrl = 'http://unresolved'; // so that the URL rule does not report it again
      return [{ path: ['upstreams', index, 'baseUrl'], problem: result.problem }];
    }
    upstream.baseUrl = result.text;
    return [];
  });
}

/** Reports `${…}` in any other field, where it would be taken literally. */
function strayReferences(value: unknown, path: Path = []): FieldProblem[] {
  if (typeof value === 'string') {
    if (!value.includes('${') || (path.length === 3 && path[0] === 'upstreams' && path[2] === 'baseUrl')) return [];
    return [{ path, problem: 'cannot refer to the environment; only baseUrl can' }];
  }
  if (Array.isArray(value)) return value.flatMap((item, index) => strayReferences(item, [...path, index]));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => strayReferences(item, [...path, key]));
}

function flatten(errors: readonly ValidationError[], parent: Path = [], inList = false): FieldProblem[] {
  return errors.flatMap(({ property, constraints, children, value }) => {
    const path = [...parent, inList ? Number(property) : property];
    const own = constraints ? [{ path, problem: describeProblem(constraints, value) }] : [];
    return [...own, ...flatten(children ?? [], path, Array.isArray(value))];
  });
}

const NO_FIELD = 'is not a field of the catalog';

function describeProblem(constraints: Record<string, string>, value: unknown): string {
  if (constraints.whitelistValidation !== undefined) return NO_FIELD;
  const rule = constraints.rule ?? FIELDS_EXPECTED;
  return value === undefined ? `is missing (${rule})` : rule;
}

function fileError(problems: readonly FieldProblem[], fileName: string, { document, lines }: YamlFile): CatalogFileError {
  const faults = problems
    .slice(0, LOOKED_UP_MAX)
    .map(({ path, problem }): Fault => ({ line: findLine(path, document, lines), path: renderPath(path), problem }));
  return new CatalogFileError(fileName, faults, problems.length - faults.length);
}

function toUpstream({
  apiKeyEnv,
  apiKeyFile,
  auth,
  tls,
  proxy,
  path,
  query,
  headers,
  body,
  capabilities,
  timeouts,
  healthCheck,
  ...upstream
}: UpstreamEntry): WantedUpstream {
  return {
    ...upstream,
    apiKeyEnv: apiKeyEnv ?? null,
    apiKeyFile: apiKeyFile ?? null,
    auth: auth ?? null,
    tls: tls === undefined ? null : { caFile: tls.caFile ?? null, certFile: tls.certFile ?? null, keyFile: tls.keyFile ?? null },
    proxy: proxy ?? null,
    path: path ?? null,
    query: query ?? null,
    headers: headers ?? null,
    body: body ?? null,
    capabilities: {
      ...capabilities,
      cachedApart: capabilities.cachedApart ?? null,
      cacheKey: capabilities.cacheKey ?? null,
      hiddenReasoning: capabilities.hiddenReasoning ?? null,
    },
    timeouts: { ...timeouts },
    healthCheck: healthCheck === undefined ? null : { ...healthCheck },
  };
}

function toModel({ displayName, created, defaultOutputTokens, price, routes, ...model }: ModelEntry): WantedModel {
  const { maxOutputTokens = NO_OUTPUT_TOKENS, embeddingDimensions = null } = model;
  return {
    ...model,
    displayName: displayName ?? null,
    created: created ?? null,
    maxOutputTokens,
    defaultOutputTokens: defaultOutputTokens ?? Math.min(maxOutputTokens, DEFAULT_OUTPUT_TOKENS_MAX),
    embeddingDimensions,
    unit: null,
    price: parseListPrices(price),
    routes: routes.map(({ concurrencyMax, capabilities, cost, ...route }) => ({
      ...route,
      concurrencyMax: concurrencyMax ?? null,
      capabilities: capabilities === undefined ? null : { ...capabilities },
      cost: cost === undefined ? null : renderPriceText(parseListPrices(cost)),
    })),
  };
}

function toService({ id, enabled, holdMaxUsd, dayMaxUsd, openHoldsMax }: ServiceEntry): WantedService {
  const amount = (usd: string | undefined): string | null => (usd === undefined ? null : String(parseUsd(usd)));
  return { id, enabled, holdMaxPicoUsd: amount(holdMaxUsd), dayMaxPicoUsd: amount(dayMaxUsd), openHoldsMax: openHoldsMax ?? null };
}

/** Items are stored as models that have a unit and no routes: their prices have versions and schedules as those of models. */
function toItems({ id: service, enabled: serviceEnabled, items }: ServiceEntry): WantedModel[] {
  return items.map(({ id, unit, displayName, enabled, unitUsd }) => ({
    ...NO_MODEL,
    id: `${service}/${id}`,
    ownedBy: service,
    displayName: displayName ?? null,
    unit: unit ?? id,
    enabled: serviceEnabled && enabled,
    price: parseListPrices({ inputUsdPerMTok: '0', cachedInputUsdPerMTok: '0', outputUsdPerMTok: '0', requestUsd: unitUsd }),
  }));
}

/** Fields of a model that an item does not have: the least that the database takes. Nothing reads them. */
const NO_MODEL = {
  created: null,
  contextTokens: 1,
  maxOutputTokens: 1,
  defaultOutputTokens: 1,
  input: ['text' as const],
  reasoning: false,
  tokensPerImageMax: 1,
  embeddingDimensions: null,
  routes: [],
};

function toPlan({ id, discountPercent, models }: PricePlanEntry): WantedPricePlan {
  return {
    id,
    enabled: true,
    discountPercent: String(Number(discountPercent)), // 12.50 and 12.5 are one plan
    models: models.map(({ id, price }) => ({ id, price: renderPriceText(parseListPrices(price)) })),
  };
}
