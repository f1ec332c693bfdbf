import { GatewayError } from '#inference/errors.js';
import type { SystemTurn } from '#inference/turn.js';
import { parseBodyAttribution } from '../body-fields/body-attribution.js';
import { invalidField, isAbsent, isObject, type JsonObject, readBody, readOptionalObject } from '../body-fields/body-fields.js';
import { parseCacheKey } from '../body-fields/cache-key.js';
import { parseOutputFormat, SCHEMA_NAME } from '../body-fields/output-format.js';
import { validateFields } from '../body-fields/validate-fields.js';
import type { ParsedRequest } from '../protocol-adapter.js';
import { WireNames } from '../tool-calls/wire-names.js';
import { ResponsesFields } from './request.dto.js';
import { DeclaredTools, echoTools, parseTools, parseToolUse } from './tools.js';
import { parseTurns } from './turns.js';

export interface ResponsesRequest extends ParsedRequest {
  /** A `ResponsesEcho` as JSON text, because its tools may have megabytes and every reply repeats them. */
  echo: string;
}

/** Fields that a Response repeats from its request, with their defaults. */
interface ResponsesEcho {
  instructions: string | null;
  max_output_tokens: number | null;
  metadata: JsonObject;
  parallel_tool_calls: boolean;
  prompt_cache_key: string | null;
  safety_identifier: string | null;
  temperature: number;
  text: JsonObject;
  tool_choice: unknown;
  tools: JsonObject[];
  top_p: number;
  user: string | null;
}

/** Parses a body of `POST /v1/responses`. Throws a `GatewayError` with its `param`. */
export function parseRequest(body: unknown): ResponsesRequest {
  const source = readBody(body);
  refuseStoredState(source);
  const fields = validateFields(ResponsesFields, source);
  const names = new WireNames();
  const declared = new DeclaredTools(parseTools(source, names), names);
  const { tools, toolChoice } = parseToolUse(source, declared);
  return {
    attribution: parseBodyAttribution(source),
    request: {
      model: fields.model,
      turns: [...parseInstructions(fields), ...parseTurns(source, declared)],
      tools: [...tools],
      toolChoice,
      maxOutputTokens: fields.max_output_tokens,
      temperature: fields.temperature,
      topP: fields.top_p,
      // `text.verbosity` is ignored.
      output: parseOutputFormat(readOptionalObject(source, 'text', '') ?? {}, 'format', 'text'),
      stream: fields.stream ?? false,
      endUser: typeof source.user === 'string' ? source.user : undefined,
      cacheKey: parseCacheKey(source),
      hints: {},
    },
    echo: JSON.stringify(readEcho(source, fields)),
  };
}

function readEcho(source: JsonObject, fields: ResponsesFields): ResponsesEcho {
  return {
    instructions: fields.instructions ?? null,
    max_output_tokens: fields.max_output_tokens ?? null,
    metadata: parseMetadata(source),
    parallel_tool_calls: fields.parallel_tool_calls ?? true,
    prompt_cache_key: textOrNull(source.prompt_cache_key),
    safety_identifier: textOrNull(source.safety_identifier),
    temperature: fields.temperature ?? 1,
    text: echoText(source),
    tool_choice: source.tool_choice ?? 'auto',
    tools: echoTools(source),
    top_p: fields.top_p ?? 1,
    user: textOrNull(source.user),
  };
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

const STORED_STATE = {
  previous_response_id: 'send the whole conversation in `input`',
  conversation: 'send the whole conversation in `input`',
  prompt: 'send the text of the prompt in `instructions` and `input`',
};

/** Throws `unsupported_parameter` for fields that rely on stored state. The message says what to send instead. */
function refuseStoredState(source: JsonObject): void {
  for (const [field, advice] of Object.entries(STORED_STATE)) {
    if (!isAbsent(source[field])) throw unsupportedParameter(field, `is not supported, because nothing is stored: ${advice}`);
  }
  const { background } = source;
  if (background === true) {
    throw unsupportedParameter('background', 'is not supported, because nothing is stored: set `stream` to true for long replies');
  }
  if (!isAbsent(background) && background !== false) throw invalidField('background', 'must be a boolean');
}

function unsupportedParameter(param: string, rule: string): GatewayError {
  return new GatewayError('unsupported_parameter', `\`${param}\` ${rule}.`, { param });
}

function parseInstructions({ instructions }: ResponsesFields): SystemTurn[] {
  return instructions ? [{ role: 'system', parts: [{ type: 'text', text: instructions }] }] : [];
}

/** Returns `text` with all fields that a Response requires. `parseOutputFormat` has validated the format. */
function echoText(source: JsonObject): JsonObject {
  const { format, verbosity, ...text } = readOptionalObject(source, 'text', '') ?? {};
  return { ...text, ...(isVerbosity(verbosity) && { verbosity }), format: echoFormat(isObject(format) ? format : { type: 'text' }) };
}

function echoFormat(format: JsonObject): JsonObject {
  if (format.type !== 'json_schema') return format;
  return { ...format, name: format.name ?? SCHEMA_NAME, description: format.description ?? null, strict: format.strict ?? false };
}

function isVerbosity(value: unknown): boolean {
  return value === 'low' || value === 'medium' || value === 'high';
}

const METADATA_PAIRS_MAX = 16;

/** Parses `metadata`: up to 16 pairs of strings. The reply repeats it unchanged. */
function parseMetadata(source: JsonObject): JsonObject {
  const metadata = readOptionalObject(source, 'metadata', '') ?? {};
  const values = Object.values(metadata);
  if (values.length > METADATA_PAIRS_MAX) throw invalidField('metadata', `must have at most ${METADATA_PAIRS_MAX} pairs`);
  if (values.some((value) => typeof value !== 'string')) throw invalidField('metadata', 'must have strings as values');
  return metadata;
}
