import type { Usage } from '../money/terms.ts';

export type FormatName = 'chat' | 'responses' | 'messages';

export const FORMAT_NAMES: readonly FormatName[] = ['chat', 'responses', 'messages'];

export type Part = { kind: 'reasoning' | 'text'; pieces: string[] } | { kind: 'call'; id: string; name: string; pieces: string[] };

/** Canonical finish words. Each format has its own. */
export type Finish = 'stop' | 'length' | 'tools' | 'filter';

/** A reply as the scripted model writes it. */
export interface Reply {
  parts: Part[];
  finish: Finish;
  /** The reported usage; null reports none. */
  usage: Usage | null;
}

/** One piece of a stream. */
export interface StreamPiece {
  bytes: string;
  /** Output tokens of its text. */
  tokens: number;
  /** The reply is complete with this piece: finish and usage have been sent. */
  completes?: boolean;
  label: 'opening' | 'content' | 'finish' | 'usage' | 'end';
}

export interface Tool {
  name: string;
  description: string;
  parameters: object;
}

/** One turn of a conversation. */
export type Turn =
  | { role: 'user' | 'assistant' | 'system'; text: string }
  | { role: 'call'; id: string; name: string; arguments: string }
  | { role: 'result'; id: string; text: string };

/** A request of a client, in canonical form. */
export interface Ask {
  model: string;
  turns: Turn[];
  stream: boolean;
  outputTokensMax: number;
  tools?: Tool[];
  /** Wants to see the reasoning, where the format asks for it. */
  wantsReasoning?: boolean;
}

export interface HeardCall {
  id: string;
  name: string;
  arguments: string;
}

/** A reply as its client heard it, in canonical form. */
export interface Heard {
  status: number;
  text: string;
  reasoning: string;
  calls: HeardCall[];
  /** The canonical finish; null: none, or a word that the format does not have. */
  finish: Finish | null;
  usage: Usage | null;
  /** `open`: the connection ended without a proper end. */
  end: 'complete' | 'failed' | 'open';
  error: { code: string; message: string } | null;
  /** Violations of the format. */
  faults: string[];
}

/** A request as the upstream got it, in canonical form. */
export interface Received {
  model: string;
  turns: Turn[];
  tools: Tool[];
  outputTokensMax: number | null;
  isStream: boolean;
}

/** A wire format, from both ends. */
export interface Format {
  name: FormatName;
  /** Path below the base URL of a client. */
  path: string;
  headers(key: string): Record<string, string>;
  ask(ask: Ask): object;
  readReply(status: number, body: string): Heard;
  readStream(body: string, isBroken: boolean): Heard;
  readAsk(body: Record<string, unknown>): Received;
  writeStream(reply: Reply): StreamPiece[];
  writeReply(reply: Reply): string;
  writeError(code: string, message: string): string;
}

export function nothingHeard(status: number): Heard {
  return { status, text: '', reasoning: '', calls: [], finish: null, usage: null, end: 'open', error: null, faults: [] };
}

/** Output tokens of a text: see `BYTES_PER_TOKEN`. */
export function countTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4);
}
