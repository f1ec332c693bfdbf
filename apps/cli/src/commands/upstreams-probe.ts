import { stringify } from 'yaml';
import { type CatalogModel, UPSTREAM_KINDS, type UpstreamCapabilities } from '#contracts/catalog.js';
import {
  type CandidateProbeRequest,
  type CandidateTls,
  candidateProbe,
  type UpstreamCandidate,
  type UpstreamCheck,
  type UpstreamProbeEnd,
  type UpstreamProbeEvent,
  type UpstreamProbeRequest,
  type UpstreamProbeStart,
  upstreamProbe,
} from '#contracts/probe.js';
import { ServiceError } from '#contracts/service-error.js';
import type { UpstreamAuth } from '#contracts/upstream-auth.js';
import { CAPABILITY_DEFAULTS } from '#contracts/upstream-defaults.js';
import type { EventStream, Messaging } from '#messaging/messaging.js';
import type { CliCommand, Parameters, Values } from '../command.js';
import { argument, flag, oneOf, optional, pairs, text, wholeNumber } from '../parameters.js';
import { renderTable } from '../render.js';
import { UsageError } from '../usage-error.js';

const PARAMETERS = {
  upstream: argument(text(64, 'id'), 'id in the catalog; with --url, the id for the new entry'),
  model: optional(text(256, 'name'), 'name of the model on the upstream; default: the models that the catalog routes to it'),
  url: optional(text(2_000, 'url'), 'base URL of an upstream that is not in the catalog yet'),
  kind: optional(oneOf(UPSTREAM_KINDS, 'kind'), 'dialect of the upstream, default openai-chat; requires --url'),
  apiKeyEnv: optional(text(128, 'variable'), 'variable UPSTREAM_KEY_… of the inference-proxy with the key; requires --url'),
  apiKeyFile: optional(text(256, 'file'), 'file with the key, in the secrets folder of the inference-proxy; requires --url'),
  auth: optional(
    pairs('fields'),
    'other proof than a key, as auth of the catalog, such as "kind=google-service-account; file=sa.json"; requires --url',
  ),
  caFile: optional(text(256, 'file'), 'CA certificate of the upstream, in the same folder; requires --url'),
  certFile: optional(text(256, 'file'), 'client certificate, in the same folder; requires --url'),
  keyFile: optional(text(256, 'file'), 'key of the client certificate, in the same folder; requires --url'),
  proxy: optional(text(2_000, 'url'), 'off, or a forward proxy that the inference-proxy declares; requires --url'),
  path: optional(text(500, 'path'), 'path of calls below the URL, with {model} for the model; requires --url'),
  query: optional(pairs('parameters'), 'query parameters of calls, such as api-version=2024-10-21; requires --url'),
  headers: optional(pairs('headers'), 'headers such as "x-route=a; x-api-key=env:UPSTREAM_KEY_A; x-b=file:b"; requires --url'),
  body: optional(
    pairs('fields'),
    'fields of the bodies of calls, such as "anthropic_version=vertex-2023-10-16; model=null"; requires --url',
  ),
  allowPrivateNetwork: flag('allow loopback and private addresses; requires --url'),
  contextTokens: optional(wholeNumber(1, 2_000_000), 'also try a prompt longer than this; a model that accepts it bills it'),
} satisfies Parameters;

/** Unlike other commands a stream: each check is shown as soon as it is done. */
export const upstreamTestCommands: readonly CliCommand[] = [
  {
    name: 'upstreams test',
    summary: 'Probe what an upstream supports with small requests; exit code 1 if it serves neither text nor embeddings',
    parameters: PARAMETERS,
    examples: [
      'upstreams test local',
      'upstreams test local --model sim-fast --json',
      'upstreams test vllm --url http://127.0.0.1:8000/v1 --allow-private-network --model Qwen/Qwen3-8B',
      'upstreams test hosted --url https://api.example.com/v1 --api-key-env UPSTREAM_KEY_HOSTED --model large-2',
      'upstreams test azure --url https://us.openai.azure.com --path "openai/deployments/{model}/chat/completions" --query api-version=2024-10-21 --headers api-key=env:UPSTREAM_KEY_AZURE --model gpt-4o',
      'upstreams test vertex --url https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/endpoints/openapi --auth "kind=google-service-account; file=vertex.json" --model google/gemini-2.5-flash',
    ],
    async run(values, json, connect, write) {
      const request = toRequest(values as unknown as Values<typeof PARAMETERS>);
      const messaging = await connect();
      const checks: UpstreamCheck[] = [];
      let start: UpstreamProbeStart | undefined;
      let end: UpstreamProbeEnd | undefined;
      const take = (event: UpstreamProbeEvent): void => {
        if (event.type === 'test-start') start = event;
        else if (event.type === 'test-end') end = event;
        else checks.push(event.check);
        if (json || event.type === 'test-end') return;
        write(`${event.type === 'test-start' ? renderStart(event) : renderCheck(event.check)}\n`);
      };
      try {
        for await (const events of openProbe(messaging, request)) for (const event of events) take(event);
      } catch (error) {
        throw withOptionName(error);
      }
      if (start === undefined || end === undefined) throw new Error('the test did not finish');
      return {
        text: json ? renderReport(start, checks, end) : renderEnd(end, request),
        failed: !end.servesText && end.embeddings.length === 0,
      };
    },
  },
];

function openProbe(messaging: Messaging, request: ProbeRequest): EventStream<UpstreamProbeEvent> {
  return 'candidate' in request ? messaging.openStream(candidateProbe, request) : messaging.openStream(upstreamProbe, request);
}

/** Option of each request field. */
const OPTION_OF_FIELD: Readonly<Record<string, string>> = {
  upstreamId: 'upstream',
  'candidate.baseUrl': '--url',
  'candidate.apiKeyEnv': '--api-key-env',
  'candidate.apiKeyFile': '--api-key-file',
  'candidate.auth': '--auth',
  'candidate.body': '--body',
  'candidate.proxy': '--proxy',
  'candidate.path': '--path',
  'candidate.query': '--query',
  'candidate.headers': '--headers',
  'candidate.tls.caFile': '--ca-file',
  'candidate.tls.certFile': '--cert-file',
  'candidate.tls.keyFile': '--key-file',
};

/** Replaces the name of the field at fault by its option. */
function withOptionName(error: unknown): unknown {
  const field = error instanceof ServiceError && error.code === 'invalid_request' ? error.param : undefined;
  const option = field === undefined ? undefined : OPTION_OF_FIELD[field];
  if (field === undefined || option === undefined) return error;
  return new UsageError((error as ServiceError).message.replace(field, option));
}

function renderReport(
  { type: _, ...about }: UpstreamProbeStart,
  checks: UpstreamCheck[],
  { type: __, ...result }: UpstreamProbeEnd,
): string {
  return JSON.stringify({ ...about, checks, ...result }, null, 2);
}

function toRequest(values: Values<typeof PARAMETERS>): ProbeRequest {
  const { upstream: upstreamId, model, url, contextTokens, kind, apiKeyEnv, apiKeyFile, proxy, path, query, allowPrivateNetwork } = values;
  const tls = readTls(values);
  const headers = values.headers && parseSources(values.headers);
  const auth = values.auth && (parseSources(values.auth) as unknown as UpstreamAuth); // the inference-proxy checks it
  const body = values.body && parseFields(values.body);
  if (url === undefined) {
    if (kind || apiKeyEnv || apiKeyFile || proxy || tls || path || query || headers || auth || body || allowPrivateNetwork)
      throw new UsageError(
        `${CANDIDATE_OPTIONS} and --allow-private-network require --url: an upstream of the catalog is tested with its entry`,
      );
    return { upstreamId, model, contextTokens };
  }
  if (model === undefined) throw new UsageError('--url requires --model: an upstream outside of the catalog has no models');
  const candidate = {
    kind: kind ?? 'openai-chat',
    baseUrl: url,
    apiKeyEnv,
    apiKeyFile,
    proxy,
    path,
    query,
    headers,
    auth,
    body,
    allowPrivateNetwork,
    tls,
  };
  return { upstreamId, model, contextTokens, candidate };
}

const CANDIDATE_OPTIONS =
  '--kind, --api-key-env, --api-key-file, --auth, --ca-file, --cert-file, --key-file, --proxy, --path, --query, --headers, --body';

/** Values that begin with `env:` or `file:` are places of secrets. */
function parseSources(given: Record<string, string>): NonNullable<UpstreamCandidate['headers']> {
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      const [, kind, place = ''] = /^(env|file):(.+)$/.exec(value) ?? [];
      return [name, kind === undefined ? value : kind === 'env' ? { env: place } : { file: place }];
    }),
  );
}

/** The words `null`, `true` and `false` are values of JSON. */
function parseFields(given: Record<string, string>): NonNullable<UpstreamCandidate['body']> {
  const words: Record<string, boolean | null> = { null: null, true: true, false: false };
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, Object.hasOwn(words, value) ? (words[value] ?? null) : value]),
  );
}

function readTls({ caFile, certFile, keyFile }: Values<typeof PARAMETERS>): CandidateTls | undefined {
  return caFile || certFile || keyFile ? { caFile, certFile, keyFile } : undefined;
}

type ProbeRequest = UpstreamProbeRequest | CandidateProbeRequest;

const TITLE_WIDTH = 34;

function renderStart({ upstreamId, kind, model, isInCatalog }: UpstreamProbeStart): string {
  return plain(`${upstreamId} (${kind}${isInCatalog ? '' : ', not in the catalog'}), model ${model}\n`);
}

function renderCheck({ title, verdict, evidence }: UpstreamCheck): string {
  return plain(`${verdict.padEnd(8)} ${title.padEnd(TITLE_WIDTH)} ${evidence}`);
}

/** Renders the result: speed, cost, and the entry for the catalog. */
function renderEnd(end: UpstreamProbeEnd, request: ProbeRequest): string {
  const { firstContentMs, tokensPerSecond, requests, promptTokens, outputTokens, servesText, embeddings } = end;
  const speed = [
    firstContentMs === null ? undefined : `first token after ${firstContentMs} ms`,
    tokensPerSecond === null ? undefined : `${tokensPerSecond} tokens a second`,
  ].filter((part) => part !== undefined);
  const cost = `${requests} requests with ${promptTokens} prompt and ${outputTokens} output tokens, billed to no account`;
  const lines = ['', ...(speed.length > 0 ? [speed.join(', ')] : []), cost, ''];
  const [embedding] = embeddings;
  if (!servesText && embedding === undefined) return [...lines, 'IT CANNOT SERVE PLAIN TEXT'].join('\n');
  if (!servesText) lines.push('It serves embeddings, and no text.', '');
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
function renderEntry(
  { upstreamId, candidate, model }: CandidateProbeRequest,
  { servesText, embeddings, capabilities, modelFacts }: UpstreamProbeEnd,
): string[] {
  const { kind, baseUrl, apiKeyEnv, apiKeyFile, auth, proxy, path, query, headers, body, allowPrivateNetwork, tls } = candidate;
  const differences = differing(capabilities);
  const upstream = {
    id: upstreamId,
    kind,
    baseUrl,
    ...(apiKeyEnv && { apiKeyEnv }),
    ...(apiKeyFile && { apiKeyFile }),
    ...(auth && { auth }),
    ...(proxy && { proxy }),
    ...(path && { path }),
    ...(query && { query }),
    ...(headers && { headers }),
    ...(body && { body }),
    ...(allowPrivateNetwork && { allowPrivateNetwork }),
    ...(tls && { tls }),
    ...(Object.keys(differences).length > 0 && { capabilities: differences }),
  };
  const entry: Partial<Omit<CatalogModel, 'price'>> & Record<string, unknown> = {
    id: legalId(model, upstreamId),
    ownedBy: 'us',
    contextTokens: modelFacts.contextTokens ?? 32_768,
    ...(servesText
      ? {
          maxOutputTokens: Math.min(8_192, modelFacts.contextTokens ?? 8_192),
          input: modelFacts.input,
          ...(modelFacts.reasoning && { reasoning: true }),
          price: { inputUsdPerMTok: '0.10', cachedInputUsdPerMTok: '0.01', outputUsdPerMTok: '0.40' },
        }
      : {
          embeddingDimensions: embeddings[0]?.dimensions,
          price: { inputUsdPerMTok: '0.10', cachedInputUsdPerMTok: '0.10', outputUsdPerMTok: '0' },
        }),
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
