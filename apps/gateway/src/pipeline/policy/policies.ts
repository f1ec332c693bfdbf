import { type Attribution, POLICY, POLICY_VERDICT } from '#contracts/billing/attribution.js';
import type { ProjectPolicy } from '#contracts/billing/project-policy.js';
import { POLICY_REQUEST_BYTES_MAX, type PolicyVerdict, type RedactedSpan } from '#contracts/policy.js';
import { TAGS_MAX } from '#contracts/rules/bounds.js';
import { GatewayError } from '#inference/errors.js';
import { measurePrompt } from '#inference/prompt-size.js';
import type { InferenceRequest } from '#inference/request.js';
import type { TraceContext } from '#tracing/trace-context.js';
import type { Caller } from '../../clients/caller.js';
import { type PolicyClient, PolicyFailure, type PolicyFailureReason } from '../../clients/policy.js';
import { EncodedRequest } from '../../encoded-request.js';
import type { PolicyTurns } from './policy-turns.js';
import { listTexts, redactTexts, UnfitSpansError } from './prompt-texts.js';
import { readVerdict } from './read-verdict.js';

/** Bytes of a question besides its texts. */
const FACTS_BYTES = 4_096;

/** Texts of large requests, which must not be read on the event loop. */
export interface LargeTexts {
  /** Returns the texts as JSON. */
  list(request: EncodedRequest, owner: Caller, signal: AbortSignal): Promise<Uint8Array>;
  /** Returns undefined for spans that do not fit. The request given is then still whole. */
  redact(request: EncodedRequest, spans: readonly RedactedSpan[], owner: Caller, signal: AbortSignal): Promise<EncodedRequest | undefined>;
}

/** A request whose project has a policy. `apply` changes it. */
export interface PolicedCall {
  request: InferenceRequest | EncodedRequest;
  caller: Caller;
  requestId: string;
  attribution?: Attribution | undefined;
  /** The highest output cap that the policy allows. Absent: any. */
  outputTokensCap?: number | undefined;
}

/** Outcome of a question: the verdict, or the way in which the policy failed. */
export type PolicyOutcome = 'allowed' | 'changed' | 'denied' | PolicyFailureReason;

interface Question {
  policy: ProjectPolicy;
  /** Estimates of the request as it is. */
  quote: { promptTokensEstimate: number; outputTokensMax: number };
  stopped: AbortSignal;
  trace: TraceContext | undefined;
}

interface Decision {
  verdict: PolicyVerdict;
  request: InferenceRequest | EncodedRequest;
}

/** Asks the policy of a project, and does what it says. */
export class Policies {
  constructor(
    private readonly client: PolicyClient,
    private readonly turns: PolicyTurns,
    private readonly largeTexts: LargeTexts,
  ) {}

  /**
   * Changes the call as the policy of its project says, and notes the policy and its verdict in the attribution. Calls `onOutcome` before it
   * returns or throws, unless the request was stopped first: then nothing has changed.
   * @throws {GatewayError} `invalid_request` when the policy denies; `model_unavailable`, or `request_too_large` for a prompt that it cannot
   * get, when it fails and the project then refuses.
   */
  async apply(call: PolicedCall, question: Question, onOutcome: (outcome: PolicyOutcome) => void): Promise<void> {
    const { policy, stopped } = question;
    const decided = await this.decide(call, question);
    if (stopped.aborted) return;
    if (typeof decided === 'string') {
      onOutcome(decided);
      note(call, policy.name, `failed-${policy.fail}`);
      if (policy.fail === 'closed') throw failedError(policy.name, decided);
      return;
    }
    const { verdict, request } = decided;
    const outcome = verdict.verdict === 'deny' ? 'denied' : isChanged(verdict) ? 'changed' : 'allowed';
    onOutcome(outcome);
    if (verdict.tags !== undefined) call.attribution = withTags(call, verdict.tags);
    note(call, policy.name, outcome);
    if (verdict.verdict === 'deny') throw deniedError(policy.name, verdict.message);
    call.request = request;
    call.outputTokensCap = verdict.outputTokensMax;
  }

  /** Returns the decision, or the reason why there is none. */
  private async decide(call: PolicedCall, question: Question): Promise<Decision | PolicyFailureReason> {
    const { policy, stopped, trace } = question;
    const { promptTokensEstimate, outputTokensMax } = question.quote;
    const endsAt = performance.now() + policy.deadlineMs;
    const signal = AbortSignal.any([stopped, AbortSignal.timeout(policy.deadlineMs)]);
    const { request, caller } = call;
    const size = request instanceof EncodedRequest ? request.size : measurePrompt(request);
    const bytes = policy.sendText ? size.textBytes + size.reasoningBytes + size.schemaBytes : 0;
    if (bytes > POLICY_REQUEST_BYTES_MAX) return 'too-large';
    const endTurn = await this.turns.take(caller, bytes + FACTS_BYTES, signal);
    if (endTurn === undefined) return 'overloaded';
    try {
      const texts = policy.sendText ? await this.listTexts(request, caller, signal) : undefined;
      const facts = {
        ...describe(call),
        ...{ promptTokensEstimate, outputTokensMax, images: size.images },
        ...(size.embedding && size.embedding.tokens > 0 && { hasTokenInputs: true }),
      };
      const timeoutMs = Math.ceil(endsAt - performance.now());
      const verdict = readVerdict(await this.client.ask(policy.name, facts, texts, { timeoutMs, signal, trace }));
      if (verdict === undefined || (verdict.redact !== undefined && !policy.sendText)) return 'invalid';
      return { verdict, request: await this.redact(request, verdict.redact, caller, signal) };
    } catch (error) {
      return findReason(error, signal);
    } finally {
      endTurn();
    }
  }

  private listTexts(request: PolicedCall['request'], caller: Caller, signal: AbortSignal): string | Promise<Uint8Array> {
    return request instanceof EncodedRequest ? this.largeTexts.list(request, caller, signal) : JSON.stringify(listTexts(request));
  }

  private async redact(
    request: PolicedCall['request'],
    spans: readonly RedactedSpan[] = [],
    caller: Caller,
    signal: AbortSignal,
  ): Promise<PolicedCall['request']> {
    if (spans.length === 0) return request;
    if (!(request instanceof EncodedRequest)) return redactTexts(request, spans);
    const redacted = await this.largeTexts.redact(request, spans, caller, signal);
    if (redacted === undefined) throw new PolicyFailure('invalid');
    return redacted;
  }
}

function describe({ request, caller, requestId, attribution }: PolicedCall) {
  const { model, stream } = request;
  const { accountId, projectId, keyId } = caller;
  return { requestId, accountId, projectId, keyId, model, stream, ...(attribution && { attribution }) };
}

/** A worker that is stopped with the question throws its own error. Throws an error of the gateway itself. */
function findReason(error: unknown, signal: AbortSignal): PolicyFailureReason {
  if (error instanceof PolicyFailure) return error.reason;
  if (error instanceof UnfitSpansError) return 'invalid';
  if (signal.aborted) return 'timeout';
  throw error;
}

function isChanged({ redact = [], outputTokensMax, tags = {} }: PolicyVerdict): boolean {
  return redact.length > 0 || outputTokensMax !== undefined || Object.keys(tags).length > 0;
}

function note(call: PolicedCall, name: string, verdict: string): void {
  call.attribution = { ...call.attribution, [POLICY]: name, [POLICY_VERDICT]: verdict };
}

/** A request has so many tags at most: those of the policy and of a child key come first, so that no client can keep them out. */
function withTags({ attribution = {}, caller: { child } }: PolicedCall, tags: Record<string, string>): Attribution {
  const own = Object.entries(tags).map(([name, value]) => [`tag:${name}`, value] as const);
  const isTag = ([dimension]: readonly [string, string]): boolean => dimension.startsWith('tag:');
  const others = Object.entries(attribution).filter(([dimension]) => !own.some(([name]) => name === dimension));
  const isFixed = ([dimension]: readonly [string, string]): boolean => child?.tags.has(dimension.replace('tag:', '')) ?? false;
  const kept = others
    .filter(isTag)
    .toSorted((one, other) => Number(isFixed(other)) - Number(isFixed(one)))
    .slice(0, TAGS_MAX - own.length);
  return Object.fromEntries([...others.filter((entry) => !isTag(entry)), ...kept, ...own]);
}

/** Journals get the sentence without the words of the policy, which may repeat the prompt. */
function deniedError(name: string, message = ''): GatewayError {
  const recordedMessage = `The policy ${name} denies this request.`;
  return new GatewayError('invalid_request', `The policy ${name} denies this request: ${message}`, { recordedMessage });
}

const FAILURES: Record<Exclude<PolicyFailureReason, 'too-large'>, string> = {
  timeout: 'did not decide in time',
  unavailable: 'cannot be reached',
  overloaded: 'has too many requests to decide',
  error: 'failed',
  invalid: 'gave no valid verdict',
};

function failedError(name: string, reason: PolicyFailureReason): GatewayError {
  if (reason === 'too-large') {
    return new GatewayError('request_too_large', `The prompt is too long for the policy ${name} of this project. Shorten the prompt.`);
  }
  const message = `The policy ${name} of this project ${FAILURES[reason]}. Try again.`;
  return new GatewayError('model_unavailable', message, { retryAfterSeconds: 1, cause: new PolicyFailure(reason) });
}
