import type { UpstreamCapabilities } from '#contracts/catalog.js';
import type { CompletedToolCall } from '#inference/completion.js';
import type { Hints, OutputFormat } from '#inference/request.js';
import type { FinishReason } from '#inference/stream-event.js';
import type { Tool, ToolChoice } from '#inference/tool.js';
import type { Turn } from '#inference/turn.js';
import type { Usage } from '#inference/usage.js';
import type { FailureKind, UpstreamFailureCode } from '../failures/upstream-failure.js';

/** One small request to an upstream. */
export interface ProbeRequest {
  /** A string stands for one user turn. */
  turns: string | Turn[];
  tools?: Tool[];
  toolChoice?: ToolChoice;
  output?: OutputFormat;
  stop?: string[];
  temperature?: number;
  topP?: number;
  hints?: Hints;
  stream?: boolean;
  /** Default: enough for a model that reasons before it answers. */
  outputTokensMax?: number;
  /** Capabilities to assume for this request, in addition to those found so far. */
  capabilities?: Partial<UpstreamCapabilities>;
  /** Cancel as soon as content arrives. */
  leaveAtContent?: boolean;
}

/** Everything a check may judge by. */
export interface ProbeResult {
  /** Absent when the reply is complete, or was cancelled on purpose. */
  failure?: ProbeFailure;
  text: string;
  reasoning: string;
  toolCalls: CompletedToolCall[];
  finishReason?: FinishReason;
  /** `promptSource` and `outputSource` tell which counts are the upstream's own. */
  usage?: Usage;
  /** Milliseconds from the request to each read of the socket that brought content. */
  contentAtMs: number[];
  /** Milliseconds from the request to the end. */
  totalMs: number;
  /** Name of the field or event in which reasoning came. */
  reasoningField?: string;
  /** Milliseconds from cancelling to the closed socket; undefined when it stayed open, or nothing was cancelled. */
  closedAfterMs?: number;
}

/** The length of a vector that the model made, or why it made none. */
export type EmbeddingResult = { dimensions: number | undefined; failure?: undefined } | { failure: ProbeFailure };

export interface ProbeFailure {
  kind: FailureKind;
  code: UpstreamFailureCode;
  /** HTTP status of the reply; undefined without a reply, or when it was 200. */
  status?: number;
  /** Error code of the system, such as `ECONNREFUSED`. */
  errorCode?: string;
  /** Reason that no connection could be made and what to do about it, if known. */
  connectionFault?: string;
  /** The upstream's text, or ours without one. Shortened, without known keys. */
  text: string;
  retryAfterSeconds?: number;
}

/** Outcome of one check. */
export interface Finding {
  verdict: 'yes' | 'no' | 'unclear';
  evidence: string;
  /** Capabilities to write into the catalog. */
  learned?: Partial<UpstreamCapabilities>;
}

/**
 * Judges the feature that a failed request used: `no` when the upstream refused it, which teaches `learned`; `unclear` when the failure
 * says nothing about it.
 */
export function judgeFailure(failure: ProbeFailure, learned?: Finding['learned']): Finding {
  const { kind, code, status } = failure;
  const evidence = describeFailure(failure);
  const isBusy = code === 'model_capacity' || status === 503 || status === 529;
  const isAboutFeature = kind === 'rejected' || kind === 'empty' || (status !== undefined && status !== 401 && !isBusy);
  return isAboutFeature && kind !== 'timeout' ? { verdict: 'no', evidence, learned } : { verdict: 'unclear', evidence };
}

export function describeFailure({ kind, status, text, code }: ProbeFailure): string {
  if (code === 'model_capacity') return 'too many requests (429): try again later';
  if (status !== undefined) return text === '' ? `refused with ${status}` : `refused with ${status}: “${text}”`;
  return kind === 'empty' ? 'empty reply' : text;
}
