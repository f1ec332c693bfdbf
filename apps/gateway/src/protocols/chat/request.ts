import type { Hints } from '#inference/request.js';
import { parseBodyAttribution } from '../body-fields/body-attribution.js';
import { invalidField, isAbsent, type JsonObject, readBody, readOptionalBoolean, readOptionalObject } from '../body-fields/body-fields.js';
import { parseCacheKey } from '../body-fields/cache-key.js';
import { parseStopSequence, parseStopSequences } from '../body-fields/stop-sequences.js';
import { validateFields } from '../body-fields/validate-fields.js';
import type { ParsedRequest } from '../protocol-adapter.js';
import { WireNames } from '../tool-calls/wire-names.js';
import { isEmpty, parseOutput } from './output.js';
import { parseReasoningHints } from './reasoning-effort.js';
import { ChatFields } from './request.dto.js';
import { parseTools, parseToolUse } from './tools.js';
import { parseTurns } from './turns.js';

export interface ChatRequest extends ParsedRequest {
  /** True when the client wants a chunk with the usage before `[DONE]`. */
  includeUsage: boolean;
}

/** Parses a body of `POST /v1/chat/completions`. Throws a `GatewayError` whose `param` names the invalid field. */
export function parseRequest(body: unknown): ChatRequest {
  const source = readBody(body);
  const fields = validateFields(ChatFields, source);
  refuseUnsupportedFields(source);
  const stream = fields.stream ?? false;
  const streamOptions = readOptionalObject(source, 'stream_options', '');
  if (streamOptions !== undefined && !stream) throw invalidField('stream_options', 'is only valid when `stream` is true');
  // Tools before turns: a declared tool keeps its name, and a call in the history reuses it.
  const names = new WireNames();
  const { tools, toolChoice } = parseToolUse(source, parseTools(source, names));
  return {
    attribution: parseBodyAttribution(source),
    includeUsage: readOptionalBoolean(streamOptions ?? {}, 'include_usage', 'stream_options') ?? false,
    request: {
      model: fields.model,
      turns: parseTurns(source, names),
      tools: [...tools],
      toolChoice,
      maxOutputTokens: readOutputLimit(fields),
      temperature: fields.temperature,
      topP: fields.top_p,
      stop: parseStop(source),
      output: parseOutput(source),
      stream,
      endUser: fields.user,
      cacheKey: parseCacheKey(source),
      hints: parseHints(source, tools.length > 0),
    },
  };
}

/** Throws `invalid_request` for the unsupported fields that change the reply. All other unknown fields are ignored. */
function refuseUnsupportedFields(source: JsonObject): void {
  for (const field of ['logprobs', 'top_logprobs']) {
    const value = source[field];
    if (!isAbsent(value) && value !== false && value !== 0) throw invalidField(field, 'is not supported: replies have no probabilities');
  }
  for (const legacy of ['functions', 'function_call']) {
    const value = source[legacy];
    if (!isEmpty(value)) throw invalidField(legacy, 'is not supported: use `tools` and `tool_choice`');
  }
  if (!isEmpty(source.logit_bias)) throw invalidField('logit_bias', 'is not supported: tokens differ from upstream to upstream');
  if (source.continue_final_message === true) {
    throw invalidField('continue_final_message', 'is not supported: a reply is a message of its own');
  }
  if (!isAbsent(source.audio)) throw invalidField('audio', 'is not supported: replies are text');
  if (Array.isArray(source.modalities) && source.modalities.includes('audio')) {
    throw invalidField('modalities', 'must not include audio: replies are text');
  }
}

function readOutputLimit(fields: ChatFields): number | undefined {
  const { max_tokens: older, max_completion_tokens: newer } = fields;
  if (older !== undefined && newer !== undefined && older !== newer) {
    throw invalidField('max_completion_tokens', 'differs from `max_tokens`: send one of the two');
  }
  return newer ?? older;
}

/** Parses `stop`: one sequence or an array of them. */
function parseStop(source: JsonObject): string[] | undefined {
  return typeof source.stop === 'string' ? [parseStopSequence(source.stop, 'stop')] : parseStopSequences(source, 'stop');
}

/** Parses optional hints. An invalid hint is ignored, never an error. */
function parseHints(source: JsonObject, hasTools: boolean): Hints {
  const { seed, presence_penalty, frequency_penalty, parallel_tool_calls } = source;
  const hints: Hints = parseReasoningHints(source);
  if (Number.isSafeInteger(seed)) hints.seed = seed as number;
  if (isPenalty(presence_penalty)) hints.presencePenalty = presence_penalty;
  if (isPenalty(frequency_penalty)) hints.frequencyPenalty = frequency_penalty;
  // Some upstreams refuse it without tools.
  if (typeof parallel_tool_calls === 'boolean' && hasTools) hints.parallelToolCalls = parallel_tool_calls;
  return hints;
}

function isPenalty(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) <= 2;
}
