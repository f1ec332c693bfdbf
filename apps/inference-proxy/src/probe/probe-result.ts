import type { UpstreamCapabilities } from '#contracts/catalog.js';
import type { CompletedToolCall } from '#inference/completion.js';
import type { Hints, OutputFormat } from '#inference/request.js';
import type { FinishReason } from '#inference/stream-event.js';
import type { Tool, ToolChoice } from '#inference/tool.js';
import type { Turn } from '#inference/turn.js';
import type { Usage } from '#inference/usage.js';
import type { FailureKind, UpstreamFailureCode } from '../failures/upstream-failure.js';

/** One small request of a test. */
export interface Probe {
  /** A text stands for one turn of the user's. */
  turns: string | Turn[];
  tools?: Tool[];
  toolChoice?: ToolChoice;
  output?: OutputFormat;
  stop?: string[];
  hints?: Hints;
  stream?: boolean;
  /** Default: enough for a model that reasons before a word of an answer. */
  outputTokensMax?: number;
  /** What the upstream is taken to be able to do for this once, besides what is known by now. */
  capabilities?: Partial<UpstreamCapabilities>;
  /** Leave as soon as content has come. */
  leaveAtContent?: boolean;
}

/** What came of a probe: all that a judgement may rest on. */
export interface Exchange {
  /** Absent: the reply came to its end, or was left on purpose. */
  failure?: ExchangeFailure;
  text: string;
  reasoning: string;
  toolCalls: CompletedToolCall[];
  finishReason?: FinishReason;
  /** Its sources say which counts are the upstream's own. */
  usage?: Usage;
  /** When content came, in milliseconds from the request: one figure a read of the socket. */
  contentAtMs: number[];
  /** Until the end of it all. */
  totalMs: number;
  /** The field or event in which reasoning came, in the upstream's own dialect. */
  reasoningField?: string;
  /** Milliseconds from leaving to the end of the socket; only for what was left. Undefined when it did not end in time. */
  closedAfterMs?: number;
}

export interface ExchangeFailure {
  kind: FailureKind;
  code: UpstreamFailureCode;
  /** Of the reply; undefined when there was none, or it was in order. */
  status?: number;
  /** What the system calls it: `ECONNREFUSED`. */
  errorCode?: string;
  /** Why no connection stands, with its cure, where that can be told. */
  connectionFault?: string;
  /** Shortened, and without secrets. */
  words: string;
  retryAfterSeconds?: number;
}

/** What one check has come to. */
export interface Finding {
  verdict: 'yes' | 'no' | 'unclear';
  evidence: string;
  /** How the catalog should describe the upstream. */
  learned?: Partial<UpstreamCapabilities>;
}

/** What a probe that failed says of the one thing in which it differs from those that went well. */
export function judgeFailure(failure: ExchangeFailure): Finding {
  const { kind, code, status } = failure;
  const evidence = describeFailure(failure);
  const isBusy = code === 'model_capacity' || status === 503 || status === 529;
  const isOfTheFeature = kind === 'rejected' || kind === 'empty' || (status !== undefined && status !== 401 && !isBusy);
  return { verdict: isOfTheFeature && kind !== 'timeout' ? 'no' : 'unclear', evidence };
}

/** The codes that servers put before what they say to people. */
const MACHINE_WORDS = /^(?:[a-z]+(?:_[a-z]+)+\s+)+(?=\S)/i;

export function describeFailure({ kind, status, words, code }: ExchangeFailure): string {
  if (code === 'model_capacity') return 'too many requests (429): ask again later';
  const said = words.replace(/^\d{3}\b\s*/, '').replace(MACHINE_WORDS, '');
  if (status !== undefined) return said === '' ? `refused with ${status}` : `refused with ${status}: “${said}”`;
  if (kind === 'empty') return 'a reply of nothing';
  return words;
}
