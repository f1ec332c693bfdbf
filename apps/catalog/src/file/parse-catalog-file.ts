// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the notation of the catalog file
import { plainToInstance } from 'class-transformer';
import { type ValidationError, validateSync } from 'class-validator';
import type { CatalogModel, PricePlan, Route, Upstream } from '#contracts/catalog.js';
import { parseListPrices } from '#money/list-prices.js';
import type { Price } from '#money/price.js';
import { renderPriceText } from '#money/price-plan.js';
import { CatalogFileEntry, type ModelEntry, type PricePlanEntry, type UpstreamEntry } from './catalog-file.schema.js';
import { CatalogFileError, type Fault } from './catalog-file-error.js';
import { checkConsistency, type FieldProblem } from './check-consistency.js';
import { lineOf, type Path, renderPath } from './locate.js';
import { readYaml, type YamlFile } from './read-yaml.js';
import { FIELDS_EXPECTED } from './rules.js';
import { substitute, type Variables } from './substitute.js';

/** The content of a catalog file with its defaults filled in, except `created`, whose default is what is stored. */
export interface WantedCatalog {
  upstreams: WantedUpstream[];
  models: WantedModel[];
  pricePlans: WantedPricePlan[];
}

/** The routes of a disabled upstream get no requests. */
export type WantedUpstream = Upstream & { enabled: boolean };

export interface WantedModel extends Omit<CatalogModel, 'created' | 'price' | 'reasoningEcho'> {
  /** Unix seconds. Null: keep the stored value, or take the time of the first apply. */
  created: number | null;
  enabled: boolean;
  price: Price;
  routes: Route[];
}

/** A plan that the file no longer names is disabled, as the other entries are. */
export type WantedPricePlan = PricePlan & { enabled: boolean };

const DEFAULT_OUTPUT_TOKENS_MAX = 4_096;

/**
 * Parses the YAML text of a whole catalog.
 * @throws {CatalogFileError} with every fault by file, line and field, or with the syntax errors alone.
 */
export function parseCatalogFile(text: string, fileName: string, variables: Variables): WantedCatalog {
  const file = readYaml(text, fileName);
  const { plain } = file;
  const problems = [...strayReferences(plain), ...substituteBaseUrls(plain, variables)];
  const entry = plainToInstance(CatalogFileEntry, plain);
  problems.push(...flatten(validateSync(entry, { whitelist: true, forbidNonWhitelisted: true, stopAtFirstError: true })));
  problems.push(...checkConsistency(entry));
  if (problems.length > 0) throw new CatalogFileError(fileName, faultsOf(problems, file));
  return { upstreams: entry.upstreams.map(upstreamOf), models: entry.models.map(modelOf), pricePlans: entry.pricePlans.map(planOf) };
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
    const own = constraints ? [{ path, problem: problemOf(constraints, value) }] : [];
    return [...own, ...flatten(children ?? [], path, Array.isArray(value))];
  });
}

function problemOf(constraints: Record<string, string>, value: unknown): string {
  if (constraints.whitelistValidation !== undefined) return 'is not a field of the catalog';
  const rule = constraints.rule ?? FIELDS_EXPECTED;
  return value === undefined ? `is missing (${rule})` : rule;
}

function faultsOf(problems: readonly FieldProblem[], { document, lines }: YamlFile): Fault[] {
  return problems.map(({ path, problem }) => ({ line: lineOf(path, document, lines), path: renderPath(path), problem }));
}

function upstreamOf({ apiKeyEnv, apiKeyFile, tls, capabilities, timeouts, healthCheck, ...upstream }: UpstreamEntry): WantedUpstream {
  return {
    ...upstream,
    apiKeyEnv: apiKeyEnv ?? null,
    apiKeyFile: apiKeyFile ?? null,
    tls: tls === undefined ? null : { caFile: tls.caFile ?? null, certFile: tls.certFile ?? null, keyFile: tls.keyFile ?? null },
    capabilities: { ...capabilities, hiddenReasoning: capabilities.hiddenReasoning ?? null },
    timeouts: { ...timeouts },
    healthCheck: healthCheck === undefined ? null : { ...healthCheck },
  };
}

function modelOf({ displayName, created, defaultOutputTokens, price, routes, ...model }: ModelEntry): WantedModel {
  return {
    ...model,
    displayName: displayName ?? null,
    created: created ?? null,
    defaultOutputTokens: defaultOutputTokens ?? Math.min(model.maxOutputTokens, DEFAULT_OUTPUT_TOKENS_MAX),
    price: parseListPrices(price),
    routes: routes.map((route) => ({ ...route, concurrencyMax: route.concurrencyMax ?? null })),
  };
}

function planOf({ id, discountPercent, models }: PricePlanEntry): WantedPricePlan {
  return {
    id,
    enabled: true,
    discountPercent: String(Number(discountPercent)), // 12.50 and 12.5 are one plan
    models: models.map(({ id, price }) => ({ id, price: renderPriceText(parseListPrices(price)) })),
  };
}
