import type { UpstreamCapabilities } from '#contracts/catalog.js';
import type { GenerateRequest } from '#contracts/inference.js';
import { CAPABILITY_DEFAULTS } from '#contracts/upstream-defaults.js';
import { addInputs, inputLength, inputTokensMax } from '#inference/embedding-size.js';
import { estimateBilledPromptTokens } from '#inference/estimate-tokens.js';
import type { StreamEvent } from '#inference/stream-event.js';
import { NO_USAGE, type PromptUsage, type Usage } from '#inference/usage.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import { HeldBytes } from '../transport/held-bytes.js';
import type { TransferLimits } from '../transport/post-stream.js';
import type { EmbeddingInput, EmbeddingsAdapter, UpstreamCall, Vector } from '../upstreams/upstream-adapter.js';
import { assertGood, type CallTarget, postCall } from './post-call.js';
import type { UsageMeter } from './usage-meter.js';

const MIB = 1024 * 1024;
/** Numbers in the reply of one call: parsing them takes up to 40 ms, and they have at most 16 MiB of text. */
const NUMBERS_MAX = 512 * 1024;
const BYTES_PER_NUMBER_MAX = 32;
/** Bytes of vectors that wait for the other parts of their request, over all requests, beyond the first MiB of each. */
const HELD_VECTORS = new HeldBytes(64 * MIB, MIB);

/**
 * Makes the embeddings of a request by as many calls as the limits of the upstream require, one after the other. Yields the vectors of each
 * when all are complete, so that a failure of any is one of the request. Throws as `callUpstream` does.
 */
export async function* callEmbeddings(
  target: CallTarget,
  { request, ticket }: GenerateRequest,
  meter: UsageMeter,
  apiKey: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<StreamEvent[], void, undefined> {
  const { client, model, capabilities = client.upstream.capabilities, onReply, onOddity } = target;
  const { baseUrl, timeouts } = client.upstream;
  const { embeddings } = client.adapter;
  if (embeddings === undefined) {
    throw new UpstreamFailure('unreachable', 'model_unavailable', { detail: 'the dialect has no embeddings', isOperatorsFault: true });
  }
  const { accountId, embeddingDimensions: dimensions = 1, outputTokensMax } = ticket;
  const { inputs = [] } = request.embedding ?? {};
  const held = HELD_VECTORS.open(accountId);
  let heldBytes = 0;
  const endsAt = performance.now() + timeouts.totalMs;
  const parts: Vector[][] = [];
  let usage = NO_INPUTS;
  try {
    for (const part of splitInputs(inputs, capabilities, dimensions)) {
      const promptTokensEstimate = estimateTokens(part);
      const call: UpstreamCall = {
        ...{ request, model, baseUrl, outputTokensMax, promptTokensEstimate, accountId },
        ...{ stream: false, capabilities, onReply, onOddity },
      };
      // A client that disconnects now pays for the parts up to this one.
      meter.expectPrompt(usage.promptTokens + promptTokensEstimate);
      const totalMs = Math.max(1, endsAt - performance.now());
      const { vectors, usage: counted } = await callPart(target, embeddings, { call, part, dimensions, totalMs, apiKey }, meter, signal);
      parts.push(vectors);
      usage = addUsage(usage, counted, promptTokensEstimate);
      heldBytes += vectors.reduce((sum, vector) => sum + (typeof vector === 'string' ? vector.length : vector.length * 8), 0);
      held.set(heldBytes);
    }
    meter.report(usage);
    for (const vectors of parts) {
      signal.throwIfAborted();
      const event: StreamEvent = { type: 'embedding-delta', vectors };
      meter.count(event);
      yield [event];
    }
    yield [
      { type: 'usage-report', usage: meter.final() },
      { type: 'completion-finish', reason: 'stop' },
    ];
  } finally {
    held.release();
  }
}

/** Divides the inputs by the limits of one call. An input that exceeds them alone has a call of its own: the upstream decides. */
export function* splitInputs(
  inputs: readonly EmbeddingInput[],
  { embeddingInputsMax, embeddingTokensMax }: Partial<UpstreamCapabilities>,
  dimensions: number,
): Generator<EmbeddingInput[], void, undefined> {
  const inputsMax = Math.min(embeddingInputsMax ?? CAPABILITY_DEFAULTS.embeddingInputsMax, Math.floor(NUMBERS_MAX / dimensions));
  const tokensMax = embeddingTokensMax ?? CAPABILITY_DEFAULTS.embeddingTokensMax;
  let part: EmbeddingInput[] = [];
  let tokens = 0;
  for (const input of inputs) {
    const most = inputTokensMax(inputLength(input), { inputs: 1, tokens: 0 });
    if (part.length > 0 && (part.length >= inputsMax || tokens + most > tokensMax)) {
      yield part;
      part = [];
      tokens = 0;
    }
    part.push(input);
    tokens += most;
  }
  if (part.length > 0) yield part;
}

function estimateTokens(inputs: EmbeddingInput[]): number {
  const size = { textBytes: 0 };
  const embedding = addInputs({ inputs }, size);
  return estimateBilledPromptTokens({ ...size, images: 0, embedding }, 0);
}

interface PartCall {
  call: UpstreamCall;
  part: EmbeddingInput[];
  dimensions: number;
  /** Milliseconds that are left for the whole request. */
  totalMs: number;
  apiKey: string | undefined;
}

async function callPart(
  target: CallTarget,
  embeddings: EmbeddingsAdapter,
  { call, part, dimensions, totalMs, apiKey }: PartCall,
  meter: UsageMeter,
  signal: AbortSignal,
): Promise<{ vectors: Vector[]; usage: PromptUsage | undefined }> {
  const rendered = embeddings.renderRequest(call, part, apiKey);
  const limits = (): TransferLimits => ({ timeouts: { totalMs }, bytesMax: MIB + part.length * dimensions * BYTES_PER_NUMBER_MAX });
  const { promptTokensEstimate } = call;
  const { reply } = await postCall(target, { rendered, stream: false, promptTokensEstimate, limits, onSent: () => meter.sent() }, signal);
  try {
    await assertGood(reply, target.client.adapter, call);
    meter.answered();
    const body = await reply.readAll(call.accountId);
    return embeddings.parseReply(body.toString(), call, { inputs: part.length, dimensions });
  } finally {
    reply.close();
  }
}

/** Usage of no inputs, to which that of each call is added. */
const NO_INPUTS: Usage = { ...NO_USAGE, promptSource: 'reported', outputSource: 'reported' };

/** Adds the tokens that the upstream counted, or else the estimate. */
function addUsage(sum: Usage, counted: PromptUsage | undefined, promptTokensEstimate: number): Usage {
  const { promptTokens, cachedTokens, tier = sum.tier } = counted ?? { promptTokens: promptTokensEstimate, cachedTokens: 0 };
  return {
    ...sum,
    promptTokens: sum.promptTokens + promptTokens,
    cachedTokens: sum.cachedTokens + cachedTokens,
    ...(tier !== undefined && { tier }),
    ...(counted === undefined && { promptSource: 'estimated' }),
  };
}
