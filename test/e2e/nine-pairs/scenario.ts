import type { ErrorCode } from '#inference/errors.js';
import type { ProtocolName } from '../../../apps/gateway/src/protocols/protocol-adapter.js';

/** What clients speak: the endpoints of the gateway. */
export type ClientFormat = ProtocolName;
export const CLIENT_FORMATS: readonly ClientFormat[] = ['chat', 'responses', 'messages'];

/** What upstreams speak (docs/upstreams.md). */
export const DIALECTS = ['openai-chat', 'openai-responses', 'anthropic-messages'] as const;
export type Dialect = (typeof DIALECTS)[number];

export type SimModel = 'sim-fast' | 'sim-reason' | 'sim-vision';

/** One thing that is asked, and what must come of it, in no format's words: every client renders it, every dialect carries it. */
export interface Scenario {
  name: string;
  ask: Ask;
  /** What the client has in the end; parts that are left out are empty, and the ending is `end`. Absent where it fails. */
  reply?: Partial<Reply>;
  failure?: Failure;
  /** Prompt tokens that the upstream reads from its cache. */
  cachedTokens?: number;
  /** Pairs for which it is not so, each with its reason. */
  exceptions?: Exception[];
}

export interface Ask {
  /** `sim-fast` if absent. */
  model?: SimModel;
  system?: string;
  turns: Turn[];
  tools?: ToolName[];
  toolChoice?: 'none' | 'required' | { name: ToolName };
  maxTokens?: number;
  stop?: string[];
  schema?: Record<string, unknown>;
  /** Reasoning is to be shown, in formats where one asks for that. */
  showReasoning?: boolean;
}

export type Turn =
  | { role: 'user'; text: string; pngBase64?: string }
  | { role: 'assistant'; text: string; calls?: (Call & { id: string })[] }
  | { role: 'tool'; id: string; name: ToolName; result: string };

export interface Call {
  name: ToolName;
  /** The object of arguments; text, where arguments were cut or JavaScript has no such numbers, and for tools that take text. */
  input: unknown;
  /** Of tools that have one. */
  namespace?: string;
}

export type Ending = 'end' | 'calls' | 'length' | 'refused' | 'filtered';

export interface Reply {
  reasoning: string;
  text: string;
  calls: Call[];
  ending: Ending;
}

interface Failure {
  code: ErrorCode;
  /** Of the reply that fails before its content. */
  status: number;
  /** What a stream has brought before it failed; the plain reply brings nothing. */
  textBefore?: string;
  /** All that the model had written by then, names and arguments of calls included; absent: the text. It is what is billed. */
  writtenBefore?: string;
}

/** Where a pair differs. What it is about: the named client, dialect, or mode; absent, all of them. */
export interface Exception {
  client?: ClientFormat;
  dialect?: Dialect;
  mode?: 'plain' | 'streamed';
  reason: string;
  /** The scenario cannot be asked: it is left out. */
  impossible?: true;
  /** The client gets this instead. */
  reply?: Partial<Reply>;
  /** All that the model writes, where it is billed for more than the client gets. */
  written?: Partial<Reply>;
}

export type ToolName = 'weather' | 'traffic' | 'clock' | 'shell' | 'spawn';

const CITY = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false };

/** Tools with a schema take JSON, the one with a grammar takes text. */
export const TOOLS: Record<ToolName, { description: string; parameters?: Record<string, unknown>; lark?: string; namespace?: string }> = {
  weather: { description: 'The weather of a city', parameters: CITY },
  traffic: { description: 'The traffic of a city', parameters: CITY },
  clock: { description: 'The time', parameters: { type: 'object', properties: { zone: { type: 'string' } } } },
  shell: { description: 'Runs a command', lark: 'start: /.+/' },
  spawn: { description: 'Starts an agent', parameters: { type: 'object' }, namespace: 'agents' },
};

/** The parts of a conversation of one text. */
export function saying(text: string): Pick<Ask, 'turns'> {
  return { turns: [{ role: 'user', text }] };
}
