import { stringify } from 'yaml';
import type { CatalogModel, UpstreamCapabilities } from '#contracts/catalog.js';
import type { CandidateProbeRequest, UpstreamCheck, UpstreamProbeEnd, UpstreamProbeRequest, UpstreamProbeStart } from '#contracts/probe.js';
import { CAPABILITY_DEFAULTS } from '#contracts/upstream-defaults.js';
import { renderTable } from '../render.js';

export type ProbeRequest = UpstreamProbeRequest | CandidateProbeRequest;

const TITLE_WIDTH = 34;

export function renderStart({ upstreamId, kind, model, isInCatalog }: UpstreamProbeStart): string {
  return plain(`${upstreamId} (${kind}${isInCatalog ? '' : ', not in the catalog'}), model ${model}\n`);
}

export function renderCheck({ title, verdict, evidence }: UpstreamCheck): string {
  return plain(`${verdict.padEnd(8)} ${title.padEnd(TITLE_WIDTH)} ${evidence}`);
}

/** Renders the result: speed, cost, and the entry for the catalog. */
export function renderEnd(end: UpstreamProbeEnd, request: ProbeRequest): string {
  const { firstContentMs, tokensPerSecond, requests, promptTokens, outputTokens, servesText } = end;
  const speed = [
    firstContentMs === null ? undefined : `first token after ${firstContentMs} ms`,
    tokensPerSecond === null ? undefined : `${tokensPerSecond} tokens a second`,
  ].filter((part) => part !== undefined);
  const cost = `${requests} requests with ${promptTokens} prompt and ${outputTokens} output tokens, billed to no account`;
  const lines = ['', ...(speed.length > 0 ? [speed.join(', ')] : []), cost, ''];
  if (!servesText) return [...lines, 'IT CANNOT SERVE PLAIN TEXT'].join('\n');
  return [...lines, ...('candidate' in request ? renderEntry(request, end) : renderDifference(end))].join('\n');
}

function renderDifference({ changes, capabilities }: UpstreamProbeEnd): string[] {
  if (changes.length === 0) return ['The catalog entry is correct.'];
  const columns = {
    CAPABILITY: ({ name }: (typeof changes)[number]) => name,
    CATALOG: ({ catalog }: (typeof changes)[number]) => String(catalog),
    FOUND: ({ found }: (typeof changes)[number]) => String(found),
  };
  return [
    'The catalog entry differs:',
    renderTable(changes, '', columns),
    '',
    'Add to its catalog entry:',
    '',
    yaml({ capabilities: differing(capabilities) }),
  ];
}

/** Renders a first catalog entry, with example prices. */
function renderEntry({ upstreamId, candidate, model }: CandidateProbeRequest, { capabilities, modelFacts }: UpstreamProbeEnd): string[] {
  const { kind, baseUrl, apiKeyEnv, apiKeyFile, proxy, path, query, headers, allowPrivateNetwork, tls } = candidate;
  const differences = differing(capabilities);
  const upstream = {
    id: upstreamId,
    kind,
    baseUrl,
    ...(apiKeyEnv && { apiKeyEnv }),
    ...(apiKeyFile && { apiKeyFile }),
    ...(proxy && { proxy }),
    ...(path && { path }),
    ...(query && { query }),
    ...(headers && { headers }),
    ...(allowPrivateNetwork && { allowPrivateNetwork }),
    ...(tls && { tls }),
    ...(Object.keys(differences).length > 0 && { capabilities: differences }),
  };
  const entry: Partial<Omit<CatalogModel, 'price'>> & Record<string, unknown> = {
    id: legalId(model, upstreamId),
    ownedBy: 'us',
    contextTokens: modelFacts.contextTokens ?? 32_768,
    maxOutputTokens: Math.min(8_192, modelFacts.contextTokens ?? 8_192),
    input: modelFacts.input,
    ...(modelFacts.reasoning && { reasoning: true }),
    price: { inputUsdPerMTok: '0.10', cachedInputUsdPerMTok: '0.01', outputUsdPerMTok: '0.40' },
    routes: [{ upstream: upstreamId, model }],
  };
  const yours = modelFacts.contextTokens === null ? 'Sizes and prices are examples: set your own.' : 'Prices are examples: set your own.';
  return [`For the catalog. ${yours}`, '', yaml({ upstreams: [upstream], models: [entry] })];
}

/** Converts the name of a model to an id that the catalog accepts. */
function legalId(name: string, otherwise: string): string {
  return name.replace(/[^A-Za-z0-9._:/@-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '') || otherwise;
}

/** Capabilities that differ from the defaults of an entry. */
function differing(capabilities: UpstreamCapabilities): Partial<UpstreamCapabilities> {
  const names = Object.keys(CAPABILITY_DEFAULTS) as (keyof UpstreamCapabilities)[];
  return Object.fromEntries(
    names
      .filter((name) => (capabilities[name] ?? CAPABILITY_DEFAULTS[name]) !== CAPABILITY_DEFAULTS[name])
      .map((name) => [name, capabilities[name]]),
  );
}

function yaml(value: object): string {
  return stringify(value, { lineWidth: 0, defaultStringType: 'PLAIN' }).trimEnd();
}

/** Replaces control characters, so that a name cannot control the terminal. */
function plain(text: string): string {
  return text.replace(/[^\P{Cc}\n]/gu, '\u{fffd}');
}
