import { UPSTREAM_KINDS } from '#contracts/catalog.js';
import {
  type CandidateTls,
  candidateProbe,
  type UpstreamCandidate,
  type UpstreamCheck,
  type UpstreamProbeEnd,
  type UpstreamProbeEvent,
  type UpstreamProbeStart,
  upstreamProbe,
} from '#contracts/probe.js';
import { ServiceError } from '#contracts/service-error.js';
import type { EventStream, Messaging } from '#messaging/messaging.js';
import type { CliCommand, Parameters, Values } from '../command.js';
import { argument, flag, oneOf, optional, pairs, text, wholeNumber } from '../parameters.js';
import { UsageError } from '../usage-error.js';
import { type ProbeRequest, renderCheck, renderEnd, renderStart } from './upstreams-probe-report.js';

const PARAMETERS = {
  upstream: argument(text(64, 'id'), 'id in the catalog; with --url, the id for the new entry'),
  model: optional(text(256, 'name'), 'name of the model on the upstream; default: the models that the catalog routes to it'),
  url: optional(text(2_000, 'url'), 'base URL of an upstream that is not in the catalog yet'),
  kind: optional(oneOf(UPSTREAM_KINDS, 'kind'), 'dialect of the upstream, default openai-chat; requires --url'),
  apiKeyEnv: optional(text(128, 'variable'), 'variable UPSTREAM_KEY_… of the inference-proxy with the key; requires --url'),
  apiKeyFile: optional(text(256, 'file'), 'file with the key, in the secrets folder of the inference-proxy; requires --url'),
  caFile: optional(text(256, 'file'), 'CA certificate of the upstream, in the same folder; requires --url'),
  certFile: optional(text(256, 'file'), 'client certificate, in the same folder; requires --url'),
  keyFile: optional(text(256, 'file'), 'key of the client certificate, in the same folder; requires --url'),
  proxy: optional(text(2_000, 'url'), 'off, or a forward proxy that the inference-proxy declares; requires --url'),
  path: optional(text(500, 'path'), 'path of calls below the URL, with {model} for the model; requires --url'),
  query: optional(pairs('parameters'), 'query parameters of calls, such as api-version=2024-10-21; requires --url'),
  headers: optional(pairs('headers'), 'headers such as "x-route=a; x-api-key=env:UPSTREAM_KEY_A; x-b=file:b"; requires --url'),
  allowPrivateNetwork: flag('allow loopback and private addresses; requires --url'),
  contextTokens: optional(wholeNumber(1, 2_000_000), 'also try a prompt longer than this; a model that accepts it bills it'),
} satisfies Parameters;

/** Unlike other commands a stream: each check is shown as soon as it is done. */
export const upstreamTestCommands: readonly CliCommand[] = [
  {
    name: 'upstreams test',
    summary: 'Probe what an upstream supports with small requests; exit code 1 if it cannot serve plain text',
    parameters: PARAMETERS,
    examples: [
      'upstreams test local',
      'upstreams test local --model sim-fast --json',
      'upstreams test vllm --url http://127.0.0.1:8000/v1 --allow-private-network --model Qwen/Qwen3-8B',
      'upstreams test hosted --url https://api.example.com/v1 --api-key-env UPSTREAM_KEY_HOSTED --model large-2',
      'upstreams test azure --url https://us.openai.azure.com --path "openai/deployments/{model}/chat/completions" --query api-version=2024-10-21 --headers api-key=env:UPSTREAM_KEY_AZURE --model gpt-4o',
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
      return { text: json ? renderReport(start, checks, end) : renderEnd(end, request), failed: !end.servesText };
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
  const headers = values.headers && parseHeaders(values.headers);
  if (url === undefined) {
    if (kind || apiKeyEnv || apiKeyFile || proxy || tls || path || query || headers || allowPrivateNetwork)
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
    allowPrivateNetwork,
    tls,
  };
  return { upstreamId, model, contextTokens, candidate };
}

const CANDIDATE_OPTIONS = '--kind, --api-key-env, --api-key-file, --ca-file, --cert-file, --key-file, --proxy, --path, --query, --headers';

/** Values that begin with `env:` or `file:` are places of secrets. */
function parseHeaders(given: Record<string, string>): NonNullable<UpstreamCandidate['headers']> {
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      const [, kind, place = ''] = /^(env|file):(.+)$/.exec(value) ?? [];
      return [name, kind === undefined ? value : kind === 'env' ? { env: place } : { file: place }];
    }),
  );
}

function readTls({ caFile, certFile, keyFile }: Values<typeof PARAMETERS>): CandidateTls | undefined {
  return caFile || certFile || keyFile ? { caFile, certFile, keyFile } : undefined;
}
