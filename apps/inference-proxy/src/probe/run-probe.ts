import type { Upstream, UpstreamCapabilities } from '#contracts/catalog.js';
import { EMBEDDING_KINDS } from '#contracts/dialects.js';
import type { CapabilityChange, UpstreamCheck, UpstreamProbeEnd, UpstreamProbeEvent } from '#contracts/probe.js';
import type { FailureKind } from '../failures/upstream-failure.js';
import type { Check, Notes } from './checks/check.js';
import { limitChecks } from './checks/limits.js';
import { outputChecks } from './checks/output.js';
import { beginsThinking, endsThinking, parameterChecks, writesTags } from './checks/parameters.js';
import { judgeKey, judgeModel, judgePlain, judgeReach } from './checks/reach.js';
import { streamingChecks, tokensPerSecond } from './checks/streaming.js';
import { toolChecks } from './checks/tools.js';
import { turnChecks } from './checks/turns.js';
import { DIALECT_PROBES, isSpecial, type Variant } from './dialect-probes.js';
import { listModels } from './list-models.js';
import { type Finding, judgeFailure, type ProbeFailure, type ProbeResult } from './probe-result.js';
import { Prober } from './prober.js';

/** In the order in which they run: later checks use what earlier ones found. */
const CHECKS: readonly Check[] = [...streamingChecks, ...turnChecks, ...parameterChecks, ...toolChecks, ...outputChecks, ...limitChecks];

/** Longest run; checks that have not started by then are skipped. */
const RUN_MS_MAX = 300_000;
const PING = { turns: 'Say pong.' };

export interface ProbeJob {
  upstream: Upstream;
  isInCatalog: boolean;
  /** Model names at the upstream. All checks run on the first; the others get one request. */
  models: readonly [string, ...string[]];
  contextTokens?: number;
  /** Names of models for embeddings at the upstream. The first model is asked for embeddings too. Default: none. */
  embeddingModels?: readonly string[];
}

/** Probes one upstream and yields each check as it ends. Throws only the signal's reason. */
export async function* runProbe(job: ProbeJob, signal: AbortSignal): AsyncGenerator<UpstreamProbeEvent[]> {
  const { upstream, models, isInCatalog } = job;
  const [model, ...others] = models;
  const deadline = Date.now() + RUN_MS_MAX;
  const prober = new Prober(upstream, model, signal, deadline);
  const notes: Notes = {};
  yield [{ type: 'test-start', upstreamId: upstream.id, kind: upstream.kind, model, isInCatalog }];
  try {
    const servesText = yield* reach(prober, notes, signal);
    notes.context = readContext(job, notes, model);
    for (const check of servesText ? checksFor(upstream.kind) : []) yield [await perform(check, prober, notes, deadline)];
    for (const other of servesText ? others : []) yield [await askOther(prober, other)];
    const embeddings: UpstreamProbeEnd['embeddings'] = [];
    for (const one of listEmbeddingModels(job, notes)) yield [await askEmbeddings(prober, one, embeddings)];
    yield [{ ...describeEnd(job, prober, notes, servesText), embeddings }];
  } finally {
    await prober.close();
  }
}

/** Judges everything from name resolution to a first plain reply by one request. Returns true when the upstream serves text. */
async function* reach(prober: Prober, notes: Notes, signal: AbortSignal): AsyncGenerator<UpstreamProbeEvent[], boolean> {
  const { upstream, model } = prober;
  const startedAt = performance.now();
  const plain = await firstReply(prober);
  const { failure } = plain;
  const tell = (id: string, title: string, finding: Finding | undefined): UpstreamProbeEvent =>
    checkEnd({ id, title }, finding ?? { verdict: 'skipped', evidence: 'not reached' }, performance.now() - startedAt);
  const reached = judgeReach(plain, upstream);
  const key = judgeMissingKey(prober, failure) ?? (reached.verdict === 'yes' ? judgeKey(failure, upstream) : undefined);
  yield [tell('reachable', 'reachable', reached), tell('key', 'key', key)];
  if (reached.verdict !== 'yes' || key?.verdict === 'no') {
    yield [tell('model', 'model', undefined), tell('plain', 'plain reply', undefined)];
    return false;
  }
  notes.isReached = true;
  notes.listed = await listModels(prober.client, (path) => prober.headersFor(path), signal);
  notes.reasoningField = plain.reasoningField;
  // Set before the checks run, or they would look for their answers in the reasoning.
  if (beginsThinking(plain.text)) prober.capabilities = { ...prober.capabilities, thinkTags: true };
  else if (endsThinking(plain.text)) prober.capabilities = { ...prober.capabilities, beginsInReasoning: true };
  const answered = judgePlain(plain);
  yield [tell('model', 'model', judgeModel(plain, model, notes.listed)), tell('plain', 'plain reply', answered)];
  return answered.verdict === 'yes';
}

function judgeMissingKey({ missingKey }: Prober, failure: ProbeResult['failure']): Finding | undefined {
  if (failure?.kind === 'credential') return { verdict: 'no', evidence: failure.text };
  return missingKey === undefined ? undefined : { verdict: 'no', evidence: `${missingKey}, as the inference-proxy sees it` };
}

const STREAMED: Variant = { streamPlainRequests: true };

const ABOUT_THE_REQUEST: ReadonlySet<FailureKind> = new Set(['rejected', 'broken', 'empty']);

/** Sends the first request, and where it is refused, again with each variant alone, and then with all that the upstream may need together. */
async function firstReply(prober: Prober): Promise<ProbeResult> {
  const result = await prober.send(PING);
  const { failure } = result;
  if (failure === undefined || !ABOUT_THE_REQUEST.has(failure.kind) || failure.errorCode !== undefined) return result;
  const own = failure.kind === 'rejected' ? DIALECT_PROBES[prober.upstream.kind].firstVariants : [];
  const variants = [...own, STREAMED].filter((variant) => !isAssumed(variant, prober.capabilities));
  for (const variant of variants) {
    const other = await prober.send({ ...PING, capabilities: variant });
    if (other.failure === undefined) return learn(prober, variant, other);
  }
  const needs = variants.filter(({ maxTokensField }) => maxTokensField === undefined);
  return needs.length < 2 ? result : ((await replyWithSome(prober, needs)) ?? result);
}

/** Returns the reply to a request with as few of `needs` as the upstream demands; undefined when it refuses all of them together too. */
async function replyWithSome(prober: Prober, needs: readonly Variant[]): Promise<ProbeResult | undefined> {
  let kept = needs;
  let reply = await prober.send({ ...PING, capabilities: joined(kept) });
  if (reply.failure !== undefined) return undefined;
  for (const variant of needs) {
    const without = kept.filter((one) => one !== variant);
    const other = await prober.send({ ...PING, capabilities: joined(without) });
    if (other.failure === undefined) [kept, reply] = [without, other];
  }
  return learn(prober, joined(kept), reply);
}

function joined(variants: readonly Variant[]): Variant {
  return Object.assign({}, ...variants);
}

function isAssumed(variant: Variant, capabilities: UpstreamCapabilities): boolean {
  return Object.entries(variant).every(([name, value]) => capabilities[name as keyof UpstreamCapabilities] === value);
}

function learn(prober: Prober, variant: Variant, reply: ProbeResult): ProbeResult {
  prober.capabilities = { ...prober.capabilities, ...variant };
  return reply;
}

function checksFor(kind: Upstream['kind']): Check[] {
  return CHECKS.filter(({ id }) => !isSpecial(id) || DIALECT_PROBES[kind].checks.includes(id));
}

async function perform(check: Check, prober: Prober, notes: Notes, deadline: number): Promise<UpstreamProbeEvent> {
  const startedAt = performance.now();
  const finding = Date.now() < deadline ? await check.run(prober, notes) : 'out of time';
  const milliseconds = performance.now() - startedAt;
  if (typeof finding === 'string') return checkEnd(check, { verdict: 'skipped', evidence: finding }, 0);
  prober.capabilities = { ...prober.capabilities, ...finding.learned };
  return checkEnd(check, finding, milliseconds);
}

async function askOther(prober: Prober, model: string): Promise<UpstreamProbeEvent> {
  const startedAt = performance.now();
  const other = prober.withModel(model);
  try {
    const result = await other.send(PING);
    const finding = result.failure === undefined ? judgePlain(result) : judgeFailure(result.failure);
    return checkEnd({ id: `model:${model}`, title: `model ${model}` }, finding, performance.now() - startedAt);
  } finally {
    await other.close();
  }
}

/** Returns the models to ask for embeddings. With a path or body of its own for replies in words, only those that are for embeddings. */
function listEmbeddingModels({ upstream, models: [model], embeddingModels = [] }: ProbeJob, { isReached }: Notes): string[] {
  if (!isReached || !EMBEDDING_KINDS.includes(upstream.kind)) return [];
  return [...new Set([...(upstream.path == null && upstream.body == null ? [model] : []), ...embeddingModels])];
}

/** Asks one model for a vector, and notes its length in `found`. */
async function askEmbeddings(prober: Prober, model: string, found: UpstreamProbeEnd['embeddings']): Promise<UpstreamProbeEvent> {
  const startedAt = performance.now();
  const isFirst = model === prober.model;
  const asked = isFirst ? prober : prober.withModel(model);
  try {
    const { dimensions, failure } = { dimensions: undefined, ...(await asked.embed()) };
    if (dimensions !== undefined) found.push({ model, dimensions });
    const about = isFirst ? { id: 'embeddings', title: 'embeddings' } : { id: `embeddings:${model}`, title: `embeddings of ${model}` };
    return checkEnd(about, judgeEmbedding(dimensions, failure), performance.now() - startedAt);
  } finally {
    if (!isFirst) await asked.close();
  }
}

function judgeEmbedding(dimensions: number | undefined, failure: ProbeFailure | undefined): Finding {
  if (failure !== undefined) return judgeFailure(failure);
  return dimensions === undefined
    ? { verdict: 'no', evidence: 'reply without a vector' }
    : { verdict: 'yes', evidence: `vectors of ${dimensions} dimensions` };
}

function checkEnd(
  { id, title }: { id: string; title: string },
  { verdict, evidence }: Pick<UpstreamCheck, 'verdict' | 'evidence'>,
  ms: number,
): UpstreamProbeEvent {
  return { type: 'check-end', check: { id, title, verdict, evidence, milliseconds: Math.round(ms) } };
}

/** Returns the context size that the operator gave, or else the one the upstream lists. */
function readContext({ contextTokens }: ProbeJob, { listed }: Notes, model: string): Notes['context'] {
  if (contextTokens !== undefined) return { tokens: contextTokens, isFromOperator: true };
  const tokens = listed?.find(({ id }) => id === model)?.contextTokens;
  return tokens === undefined ? undefined : { tokens, isFromOperator: false };
}

function describeEnd({ upstream }: ProbeJob, prober: Prober, notes: Notes, servesText: boolean): Omit<UpstreamProbeEnd, 'embeddings'> {
  const { capabilities, tally } = prober;
  return {
    type: 'test-end',
    servesText,
    firstContentMs: notes.stream?.contentAtMs[0] === undefined ? null : Math.round(notes.stream.contentAtMs[0]),
    tokensPerSecond: notes.stream === undefined ? null : tokensPerSecond(notes.stream),
    ...tally,
    capabilities,
    changes: changesBetween(upstream.capabilities, capabilities),
    modelFacts: {
      input: notes.seesImages ? ['text', 'image'] : ['text'],
      reasoning: notes.reasoningField !== undefined || writesTags(capabilities),
      contextTokens: notes.context?.tokens ?? null,
    },
  };
}

function changesBetween(catalog: UpstreamCapabilities, found: UpstreamCapabilities): CapabilityChange[] {
  const names = Object.keys(found) as (keyof UpstreamCapabilities)[];
  return names.flatMap((name) =>
    catalog[name] === found[name] ? [] : [{ name, catalog: catalog[name] ?? null, found: found[name] ?? null }],
  );
}
