import { UPSTREAM_KINDS } from '#contracts/catalog.js';
import { ServiceError } from '#contracts/service-error.js';
import {
  type CandidateTls,
  type UpstreamCheck,
  type UpstreamTestEnd,
  type UpstreamTestEvent,
  type UpstreamTestRequest,
  type UpstreamTestStart,
  upstreamTest,
} from '#contracts/probe.js';
import { type CliCommand, type Parameters, UsageError, type Values } from '../command.js';
import { argument, flag, oneOf, optional, text, wholeNumber } from '../parameters.js';
import { renderCheck, renderEnd, renderStart } from './upstreams-test-report.js';

const PARAMETERS = {
  upstream: argument(text(64, 'id'), 'its id in the catalog; with --url, the id it is going to have'),
  model: optional(text(256, 'name'), 'the name of the model there; by default those the catalog routes to it'),
  url: optional(text(2_000, 'url'), 'test what is not in the catalog yet, at this base URL'),
  kind: optional(oneOf(UPSTREAM_KINDS, 'kind'), 'the dialect it speaks; openai-chat by default; goes with --url'),
  apiKeyEnv: optional(text(128, 'variable'), 'the variable of the inference-proxy that holds its key; goes with --url'),
  apiKeyFile: optional(text(256, 'file'), 'the file of its key, in the folder of secrets of the inference-proxy; goes with --url'),
  caFile: optional(text(256, 'file'), 'the authority of its certificate, in the same folder; goes with --url'),
  certFile: optional(text(256, 'file'), 'our certificate for it, in the same folder; goes with --url'),
  keyFile: optional(text(256, 'file'), 'the key of our certificate, in the same folder; goes with --url'),
  allowPrivateNetwork: flag('it is inside our own network; goes with --url'),
  contextTokens: optional(wholeNumber(1, 2_000_000), 'try a prompt longer than this; a model that takes it bills it'),
} satisfies Parameters;

/** A stream, unlike all other commands: each check is shown when it is done. */
export const upstreamTestCommands: readonly CliCommand[] = [
  {
    name: 'upstreams test',
    summary: 'Send an upstream small requests and say what it can do; the exit code is 1 if it cannot serve plain text',
    parameters: PARAMETERS,
    examples: [
      'upstreams test local',
      'upstreams test local --model sim-fast --json',
      'upstreams test vllm --url http://127.0.0.1:8000/v1 --allow-private-network --model Qwen/Qwen3-8B',
      'upstreams test hosted --url https://api.example.com/v1 --api-key-env HOSTED_API_KEY --model large-2',
    ],
    async run(values, json, connect, write) {
      const request = requestOf(values as unknown as Values<typeof PARAMETERS>);
      const messaging = await connect();
      const checks: UpstreamCheck[] = [];
      let start: UpstreamTestStart | undefined;
      let end: UpstreamTestEnd | undefined;
      const take = (event: UpstreamTestEvent): void => {
        if (event.type === 'test-start') start = event;
        else if (event.type === 'test-end') end = event;
        else checks.push(event.check);
        if (json || event.type === 'test-end') return;
        write(`${event.type === 'test-start' ? renderStart(event) : renderCheck(event.check)}\n`);
      };
      try {
        for await (const events of messaging.openStream(upstreamTest, request)) for (const event of events) take(event);
      } catch (error) {
        throw inTheirWords(error);
      }
      if (start === undefined || end === undefined) throw new Error('the test came to no end');
      return { text: json ? renderReport(start, checks, end) : renderEnd(start, end, request), failed: !end.servesText };
    },
  },
];

/** What was typed, by the field it became. */
const TYPED: Readonly<Record<string, string>> = {
  upstreamId: 'upstream',
  'candidate.baseUrl': '--url',
  'candidate.apiKeyEnv': '--api-key-env',
  'candidate.apiKeyFile': '--api-key-file',
  'candidate.tls.caFile': '--ca-file',
  'candidate.tls.certFile': '--cert-file',
  'candidate.tls.keyFile': '--key-file',
};

/** A refusal of a field names the option that was typed. */
function inTheirWords(error: unknown): unknown {
  const field = error instanceof ServiceError && error.code === 'invalid_request' ? error.param : undefined;
  const typed = field === undefined ? undefined : TYPED[field];
  if (field === undefined || typed === undefined) return error;
  return new UsageError((error as ServiceError).message.replace(field, typed));
}

function renderReport({ type: _, ...about }: UpstreamTestStart, checks: UpstreamCheck[], { type: __, ...result }: UpstreamTestEnd): string {
  return JSON.stringify({ ...about, checks, ...result }, null, 2);
}

function requestOf(values: Values<typeof PARAMETERS>): UpstreamTestRequest {
  const { upstream: upstreamId, model, url, contextTokens, kind, apiKeyEnv, apiKeyFile, allowPrivateNetwork } = values;
  const tls = tlsOf(values);
  if (url === undefined) {
    if (kind || apiKeyEnv || apiKeyFile || tls || allowPrivateNetwork)
      throw new UsageError(
        `${OF_A_CANDIDATE} and --allow-private-network go with --url: what is in the catalog is tested as it says there`,
      );
    return { upstreamId, model, contextTokens };
  }
  if (model === undefined) throw new UsageError('--url needs --model: what is not in the catalog has no models yet');
  const candidate = { kind: kind ?? 'openai-chat', baseUrl: url, apiKeyEnv, apiKeyFile, allowPrivateNetwork, tls };
  return { upstreamId, model, contextTokens, candidate };
}

const OF_A_CANDIDATE = '--kind, --api-key-env, --api-key-file, --ca-file, --cert-file, --key-file';

function tlsOf({ caFile, certFile, keyFile }: Values<typeof PARAMETERS>): CandidateTls | undefined {
  return caFile || certFile || keyFile ? { caFile, certFile, keyFile } : undefined;
}
