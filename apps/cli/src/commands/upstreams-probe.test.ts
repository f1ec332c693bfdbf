import { parse } from 'yaml';
import { UPSTREAM_KINDS } from '#contracts/catalog.js';
import {
  type CandidateProbeRequest,
  candidateProbe,
  type UpstreamProbeEnd,
  type UpstreamProbeEvent,
  type UpstreamProbeRequest,
  upstreamProbe,
} from '#contracts/probe.js';
import { ServiceError } from '#contracts/service-error.js';
import { CAPABILITY_DEFAULTS } from '#contracts/upstream-defaults.js';
import { type FakeEventStream, FakeMessaging } from '#testing/fake-messaging.js';
import { runCli } from '../run-cli.js';

const START: UpstreamProbeEvent = { type: 'test-start', upstreamId: 'local', kind: 'openai-chat', model: 'sim-fast', isInCatalog: true };
const CHECK = { id: 'stream', title: 'streams', verdict: 'yes', evidence: '32 tokens, finish stop', milliseconds: 40 } as const;
const END: UpstreamProbeEnd = {
  type: 'test-end',
  servesText: true,
  firstContentMs: 12,
  tokensPerSecond: 240,
  requests: 29,
  promptTokens: 4_500,
  outputTokens: 600,
  capabilities: { ...CAPABILITY_DEFAULTS, seed: false, systemMessages: 'first' },
  changes: [
    { name: 'seed', catalog: true, found: false },
    { name: 'systemMessages', catalog: 'anywhere', found: 'first' },
  ],
  embeddings: [],
  modelFacts: { input: ['text'], reasoning: false, contextTokens: null },
};

interface Result {
  code: number;
  /** Written pieces. */
  out: string[];
  err: string;
  asked: unknown;
}

/** Runs a command line against a probe that sends these events, or fails. */
function run(line: string, events?: UpstreamProbeEvent[], failure?: Error): Promise<Result> {
  return runArguments(line.split(' '), events, failure);
}

async function runArguments(args: string[], events: UpstreamProbeEvent[] = [START, END], failure?: Error): Promise<Result> {
  const result: Result = { code: 0, out: [], err: '', asked: null };
  const messaging = new FakeMessaging();
  const serve = (payload: UpstreamProbeRequest | CandidateProbeRequest, stream: FakeEventStream<UpstreamProbeEvent>): void => {
    result.asked = JSON.parse(JSON.stringify(payload));
    for (const event of events) stream.write(event);
    if (failure) stream.fail(failure);
    else stream.end();
  };
  messaging.serve(upstreamProbe, serve);
  messaging.serve(candidateProbe, serve);
  const output = {
    writeOut: (text: string) => void result.out.push(text),
    writeErr: (text: string) => {
      result.err += text;
    },
  };
  result.code = await runCli(args, output, async () => messaging);
  return result;
}

const CANDIDATE = { kind: 'openai-chat', baseUrl: 'http://127.0.0.1:8000/v1' };

test.each<[line: string, asked: object]>([
  ['upstreams test local', { upstreamId: 'local' }],
  ['upstreams test local --model sim-tiny --context-tokens 2048', { upstreamId: 'local', model: 'sim-tiny', contextTokens: 2_048 }],
  ['upstreams test new --url http://127.0.0.1:8000/v1 --model m', { upstreamId: 'new', model: 'm', candidate: CANDIDATE }],
  [
    'upstreams test new --url http://127.0.0.1:8000/v1 --model m --kind anthropic-messages --api-key-env UPSTREAM_KEY_NEW --allow-private-network',
    {
      upstreamId: 'new',
      model: 'm',
      candidate: { ...CANDIDATE, kind: 'anthropic-messages', apiKeyEnv: 'UPSTREAM_KEY_NEW', allowPrivateNetwork: true },
    },
  ],
  [
    'upstreams test new --url http://127.0.0.1:8000/v1 --model m --api-key-file keys/new',
    { upstreamId: 'new', model: 'm', candidate: { ...CANDIDATE, apiKeyFile: 'keys/new' } },
  ],
  [
    'upstreams test new --url https://model.example/v1 --model m --ca-file ca.pem --cert-file client.pem --key-file client.key',
    {
      upstreamId: 'new',
      model: 'm',
      candidate: {
        ...CANDIDATE,
        baseUrl: 'https://model.example/v1',
        tls: { caFile: 'ca.pem', certFile: 'client.pem', keyFile: 'client.key' },
      },
    },
  ],
])('%s', async (line, asked) => {
  expect((await run(line)).asked).toEqual(asked);
});

test.each([
  ['upstreams test', "missing required argument 'upstream'"],
  ['upstreams test new --url http://127.0.0.1:8000/v1', '--url requires --model: an upstream outside of the catalog has no models'],
  [
    'upstreams test local --kind openai-chat',
    '--kind, --api-key-env, --api-key-file, --auth, --ca-file, --cert-file, --key-file, --proxy, --path, --query, --headers, --body and --allow-private-network require --url: an upstream of the catalog is tested with its entry',
  ],
  [
    'upstreams test local --model m --kind ollama',
    `option '--kind <kind>' argument 'ollama' is invalid. Must be ${new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(UPSTREAM_KINDS)}.`,
  ],
])('%s is a usage error, and no service is called', async (line, error) => {
  expect(await run(line)).toEqual({ code: 2, out: [], err: `error: ${error}\n`, asked: null });
});

test('a model for embeddings alone is no failure, and its entry has the length of its vectors', async () => {
  const end = { ...END, servesText: false, embeddings: [{ model: 'embed-1', dimensions: 1_536 }] };
  const { code, out } = await run('upstreams test new --url http://127.0.0.1:8000/v1 --model embed-1', [START, end]);
  expect({ code, text: out.at(-1) }).toMatchObject({ code: 0, text: expect.stringContaining('It serves embeddings, and no text.') });
  expect(out.at(-1)).toContain(`    embeddingDimensions: 1536
    price:
      inputUsdPerMTok: "0.10"
      cachedInputUsdPerMTok: "0.10"
      outputUsdPerMTok: "0"
`);
});

test('shows each check when it is done, then the result', async () => {
  const { code, out } = await run('upstreams test local', [START, { type: 'check-end', check: CHECK }, END]);
  expect({ code, out }).toEqual({
    code: 0,
    out: [
      'local (openai-chat), model sim-fast\n\n',
      'yes      streams                            32 tokens, finish stop\n',
      `
first token after 12 ms, 240 tokens a second
29 requests with 4500 prompt and 600 output tokens, billed to no account

The catalog entry differs:
CAPABILITY      CATALOG   FOUND
seed            true      false
systemMessages  anywhere  first

Add to its catalog entry:

capabilities:
  systemMessages: first
  seed: false
`,
    ],
  });
});

test('reports a correct catalog entry', async () => {
  const { out } = await run('upstreams test local', [START, { ...END, changes: [] }]);
  expect(out.join('')).toContain('\n\nThe catalog entry is correct.\n');
});

test('suggests a catalog entry for a new upstream', async () => {
  const end = { ...END, modelFacts: { input: ['text' as const, 'image' as const], reasoning: true, contextTokens: 4_096 } };
  const line =
    'upstreams test new --url http://127.0.0.1:8000/v1 --model Qwen/Qwen3-8B --api-key-env UPSTREAM_KEY_NEW --allow-private-network';
  const { out } = await run(line, [{ ...START, upstreamId: 'new', model: 'Qwen/Qwen3-8B', isInCatalog: false }, end]);
  expect(out.join('')).toBe(`new (openai-chat, not in the catalog), model Qwen/Qwen3-8B


first token after 12 ms, 240 tokens a second
29 requests with 4500 prompt and 600 output tokens, billed to no account

For the catalog. Prices are examples: set your own.

upstreams:
  - id: new
    kind: openai-chat
    baseUrl: http://127.0.0.1:8000/v1
    apiKeyEnv: UPSTREAM_KEY_NEW
    allowPrivateNetwork: true
    capabilities:
      systemMessages: first
      seed: false
models:
  - id: Qwen/Qwen3-8B
    ownedBy: us
    contextTokens: 4096
    maxOutputTokens: 4096
    input:
      - text
      - image
    reasoning: true
    price:
      inputUsdPerMTok: "0.10"
      cachedInputUsdPerMTok: "0.01"
      outputUsdPerMTok: "0.40"
    routes:
      - upstream: new
        model: Qwen/Qwen3-8B
`);
});

test('an upstream that cannot serve plain text gives exit code 1', async () => {
  const { code, out } = await run('upstreams test local', [
    START,
    { ...END, servesText: false, firstContentMs: null, tokensPerSecond: null },
  ]);
  expect({ code, end: out.at(-1) }).toEqual({
    code: 1,
    end: '\n29 requests with 4500 prompt and 600 output tokens, billed to no account\n\nIT CANNOT SERVE PLAIN TEXT\n',
  });
});

test('--json prints one document at the end', async () => {
  const { code, out } = await run('upstreams test local --json', [START, { type: 'check-end', check: CHECK }, END]);
  const { type: _, ...start } = START;
  const { type: __, ...end } = END;
  expect({ code, documents: out.map((text) => JSON.parse(text)) }).toEqual({ code: 0, documents: [{ ...start, checks: [CHECK], ...end }] });
});

test('control characters of a server do not reach the terminal', async () => {
  const check = { ...CHECK, evidence: 'it lists \u001b[2J' };
  const { out } = await run('upstreams test local', [START, { type: 'check-end', check }, END]);
  expect(out[1]).toBe('yes      streams                            it lists \u{fffd}[2J\n');
});

test.each([
  ['@cf/meta/llama-3.1-8b', 'cf/meta/llama-3.1-8b'],
  ['Llama 3 (8B)', 'Llama-3-8B-'],
  ['モデル', 'new'],
])('a model name that is not a valid id gets an id: %s', async (model, id) => {
  const { out } = await runArguments(
    ['upstreams', 'test', 'new', '--url', 'http://127.0.0.1:8000/v1', '--model', model],
    [{ ...START, upstreamId: 'new', model, isInCatalog: false }, END],
  );
  const entries: unknown = parse(out.join('').split('\n\n').at(-1) ?? '');
  expect(entries).toMatchObject({ models: [{ id, routes: [{ upstream: 'new', model }] }] });
});

test('the suggested entry has the certificate files', async () => {
  const { out } = await run('upstreams test new --url https://model.example/v1 --model m --ca-file ca.pem', [
    { ...START, upstreamId: 'new', model: 'm', isInCatalog: false },
    END,
  ]);
  expect(parse(out.join('').split('\n\n').at(-1) ?? '')).toMatchObject({ upstreams: [{ id: 'new', tls: { caFile: 'ca.pem' } }] });
});

const AZURE = [
  ...['upstreams', 'test', 'azure', '--url', 'https://us.openai.azure.com', '--model', 'gpt-4o', '--path', 'deployments/{model}/chat'],
  ...['--query', 'api-version=2024-10-21', '--headers', 'api-key=env:UPSTREAM_KEY_AZURE; x-route=a=b; x-b=file:b'],
  ...['--auth', 'kind=oauth; tokenUrl=https://login.example/t; clientId=us; clientSecret=env:UPSTREAM_KEY_A'],
  ...['--body', 'anthropic_version=vertex-2023-10-16; model=null; store=false'],
];
const REQUEST_FIELDS = {
  path: 'deployments/{model}/chat',
  query: { 'api-version': '2024-10-21' },
  headers: { 'api-key': { env: 'UPSTREAM_KEY_AZURE' }, 'x-route': 'a=b', 'x-b': { file: 'b' } },
  auth: { kind: 'oauth', tokenUrl: 'https://login.example/t', clientId: 'us', clientSecret: { env: 'UPSTREAM_KEY_A' } },
  body: { anthropic_version: 'vertex-2023-10-16', model: null, store: false },
};

test('path, query, headers, auth and body are asked, and in the suggested entry', async () => {
  const { asked, out } = await runArguments(AZURE, [{ ...START, upstreamId: 'azure', isInCatalog: false }, END]);
  expect(asked).toMatchObject({ candidate: REQUEST_FIELDS });
  expect(parse(out.join('').split('\n\n').at(-1) ?? '')).toMatchObject({ upstreams: [REQUEST_FIELDS] });
});

test('a header without a value is refused, and its text is not repeated', async () => {
  const { code, err } = await runArguments([...AZURE.slice(0, -1), 'sk-secret'], []);
  expect([code, err]).toEqual([2, expect.stringContaining('Must be names with values such as a=1; b=2.')]);
});

test.each([
  ['candidate.path', 'must be a path', '--path must be a path'],
  ['candidate.headers', 'must not have host', '--headers must not have host'],
  ['candidate.tls.keyFile', 'is missing', '--key-file is missing'],
  ['candidate.baseUrl', 'must be an http:// URL', '--url must be an http:// URL'],
  ['candidate.apiKeyEnv', 'must be the name of an environment variable', '--api-key-env must be the name of an environment variable'],
  ['upstreamId', 'must be an id', 'upstream must be an id'],
])('a refusal of %s names its option', async (field, rule, error) => {
  const refusal = new ServiceError('invalid_request', `${field} ${rule}`, field);
  expect(await run('upstreams test new --url x --model m', [], refusal)).toMatchObject({ code: 2, out: [], err: `error: ${error}\n` });
});

test('a refusal is one line', async () => {
  const refusal = new ServiceError('not_found', 'The catalog has no upstream remote, or it is disabled.');
  expect(await run('upstreams test remote', [], refusal)).toMatchObject({
    code: 1,
    out: [],
    err: 'error: The catalog has no upstream remote, or it is disabled.\n',
  });
});

test('a probe without an end fails', async () => {
  expect(await run('upstreams test local', [START])).toMatchObject({ code: 1, err: 'error: unexpected error: the test did not finish\n' });
});
