import { UPSTREAM_KINDS } from '#contracts/catalog.js';
import type { ErrorCode } from '#inference/errors.js';
import type { ProtocolName } from '../../../apps/gateway/src/protocols/protocol-adapter.js';

/** Formats of the gateway. */
export type ClientFormat = ProtocolName;
export const CLIENT_FORMATS: readonly ClientFormat[] = ['chat', 'responses', 'messages'];

/** Dialects of upstreams (docs/upstreams.md). */
export const DIALECTS = UPSTREAM_KINDS;
export type Dialect = (typeof DIALECTS)[number];

/** Paths of the requests of each dialect. */
export const PATHS: Record<Dialect, RegExp> = {
  'openai-chat': /^\/v1\/chat\/completions$/,
  'openai-responses': /^\/v1\/responses$/,
  'anthropic-messages': /^\/v1\/messages$/,
  'bedrock-converse': /^\/v1\/model\/sim-\w+\/converse(?:-stream)?$/,
  gemini: /^\/v1\/models\/sim-\w+:(?:generateContent|streamGenerateContent\?alt=sse)$/,
};

export type SimModel = 'sim-fast' | 'sim-reason' | 'sim-vision';

/** A request and its expected outcome, independent of formats and dialects. */
export interface Scenario {
  name: string;
  ask: Ask;
  /** Expected reply. Missing parts are empty, and the default end is `end`. Absent for a failure. */
  reply?: Partial<Reply>;
  failure?: Failure;
  /** Prompt tokens that the upstream reads from its cache. */
  cachedTokens?: number;
  /** Pairs with another outcome, each with its reason. */
  exceptions?: Exception[];
}

export interface Ask {
  /** Default `sim-fast`. */
  model?: SimModel;
  system?: string;
  turns: Turn[];
  tools?: ToolName[];
  toolChoice?: 'none' | 'required' | { name: ToolName };
  maxTokens?: number;
  stop?: string[];
  schema?: Record<string, unknown>;
  /** Request reasoning, in formats that return it only on request. */
  showReasoning?: boolean;
}

export type Turn =
  | { role: 'user'; text: string; pngBase64?: string }
  | { role: 'assistant'; text: string; calls?: (Call & { id: string })[] }
  | { role: 'tool'; id: string; name: ToolName; result: string };

export interface Call {
  name: ToolName;
  /** Arguments as an object, or as text: for custom tools, arguments that were cut, and numbers beyond a double. */
  input: unknown;
  /** Namespace of the tool, if any. */
  namespace?: string;
}

export type ReplyEnd = 'end' | 'calls' | 'length' | 'refused' | 'filtered';

export interface Reply {
  reasoning: string;
  text: string;
  calls: Call[];
  ending: ReplyEnd;
}

interface Failure {
  code: ErrorCode;
  /** HTTP status of a failure before content. */
  status: number;
  /** Streamed text before the failure; a plain reply has none. */
  textBefore?: string;
  /** Billed output before the failure, names and arguments of calls included. Default: `textBefore`. */
  writtenBefore?: string;
}

/** A different outcome for the named client, dialects or mode; absent fields match all. */
export interface Exception {
  client?: ClientFormat;
  dialect?: Dialect | readonly Dialect[];
  mode?: 'plain' | 'streamed';
  reason: string;
  /** The scenario is not possible for this pair. */
  impossible?: true;
  /** Replaces the expected reply. */
  reply?: Partial<Reply>;
  /** The upstream does not get the tools, so that its prompt is shorter. */
  withoutTools?: true;
  /** Billed reply, if it has more than the client receives. */
  written?: Partial<Reply>;
}

export type ToolName = 'weather' | 'traffic' | 'clock' | 'shell' | 'spawn';

const CITY = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false };

/** Tools with a schema take JSON; the tool with a grammar takes text. */
export const TOOLS: Record<ToolName, { description: string; parameters?: Record<string, unknown>; lark?: string; namespace?: string }> = {
  weather: { description: 'The weather of a city', parameters: CITY },
  traffic: { description: 'The traffic of a city', parameters: CITY },
  clock: { description: 'The time', parameters: { type: 'object', properties: { zone: { type: 'string' } } } },
  shell: { description: 'Runs a command', lark: 'start: /.+/' },
  spawn: { description: 'Starts an agent', parameters: { type: 'object' }, namespace: 'agents' },
};

/** A conversation of one user text. */
export function saying(text: string): Pick<Ask, 'turns'> {
  return { turns: [{ role: 'user', text }] };
}
