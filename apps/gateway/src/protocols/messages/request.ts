import { GatewayError } from '#inference/errors.js';
import type { InferenceRequest, OutputFormat } from '#inference/request.js';
import { parseBodyAttribution } from '../body-fields/body-attribution.js';
import {
  fieldPath,
  invalidField,
  isAbsent,
  type JsonObject,
  readBody,
  readName,
  readObject,
  readOptionalObject,
  readOptionalString,
} from '../body-fields/body-fields.js';
import { enforcedSchema } from '../body-fields/output-format.js';
import { parseStopSequences } from '../body-fields/stop-sequences.js';
import { validateFields } from '../body-fields/validate-fields.js';
import type { ParsedRequest } from '../protocol-adapter.js';
import { WireNames } from '../tool-calls/wire-names.js';
import { MessagesFields } from './request.dto.js';
import { type DeclaredTools, parseToolChoice, parseTools } from './tools.js';
import { parseTurns } from './turns.js';

export interface MessagesRequest extends ParsedRequest {
  /** True when reasoning is sent as thinking blocks. It is billed either way. */
  showThinking: boolean;
}

/** The fields of a request that determine the size of its prompt. */
type CountRequest = Pick<InferenceRequest, 'model' | 'turns' | 'tools' | 'output'>;

/** Parses a body of `POST /v1/messages`. Throws a `GatewayError` with its `param`. */
export function parseRequest(body: unknown): MessagesRequest {
  const source = readBody(body);
  const fields = validateFields(MessagesFields, source);
  if (fields.max_tokens === undefined) throw invalidField('max_tokens', 'is required');
  const { prompt, declared } = parsePrompt(source, fields.model);
  const thinking = readThinking(source);
  return {
    attribution: parseBodyAttribution(source),
    showThinking: thinking !== undefined && thinking !== 'disabled',
    request: {
      ...prompt,
      toolChoice: parseToolChoice(source, declared),
      maxOutputTokens: fields.max_tokens,
      temperature: fields.temperature,
      topP: fields.top_p,
      stop: parseStopSequences(source, 'stop_sequences'),
      stream: fields.stream ?? false,
      hints: thinking === 'disabled' ? { reasoningOff: true } : {},
    },
  };
}

/** Parses a body of `POST /v1/messages/count_tokens`. Only the fields of the prompt are read; `max_tokens` may be absent. */
export function parseCountRequest(body: unknown): CountRequest {
  const source = readBody(body);
  const { model } = validateFields(MessagesFields, { model: source.model });
  return parsePrompt(source, model).prompt;
}

function parsePrompt(source: JsonObject, model: string): { prompt: CountRequest; declared: DeclaredTools } {
  refuseThread(source);
  const names = new WireNames();
  // Declared tools are named before the calls of earlier turns.
  const declared = parseTools(source, names);
  const prompt = { model, turns: parseTurns(source, names), tools: [...declared.tools], output: parseOutputFormat(source) };
  return { prompt, declared };
}

/**
 * Throws `unsupported_parameter` for `thread`: a client that continues a thread sends only its new messages. The tool runner of
 * Anthropic's SDK then continues without a thread (see `errors.ts`).
 */
function refuseThread(source: JsonObject): void {
  if (isAbsent(source.thread)) return;
  const message = '`thread` is not supported: nothing is stored between requests. Send the whole conversation in `messages`.';
  throw new GatewayError('unsupported_parameter', message, { param: 'thread' });
}

/** Parses `output_config.format`, or `output_format` of older clients. */
function parseOutputFormat(source: JsonObject): OutputFormat {
  const config = readOptionalObject(source, 'output_config', '') ?? {};
  const older = parseJsonSchema(source, 'output_format', '');
  return parseJsonSchema(config, 'format', 'output_config') ?? older ?? { kind: 'text' };
}

/** Parses a JSON Schema format. It is strict, as at Anthropic, and has no name in this format. */
function parseJsonSchema(owner: JsonObject, field: string, path: string): OutputFormat | undefined {
  const format = readOptionalObject(owner, field, path);
  if (format === undefined) return undefined;
  const formatPath = fieldPath(path, field);
  if (readName(format, 'type', formatPath) !== 'json_schema') throw invalidField(`${formatPath}.type`, 'must be json_schema');
  return enforcedSchema(readObject(format, 'schema', formatPath));
}

/** Returns the type of `thinking`. Any type but `disabled` shows the reasoning; `budget_tokens` is ignored. */
function readThinking(source: JsonObject): string | undefined {
  const thinking = readOptionalObject(source, 'thinking', '');
  return thinking && readOptionalString(thinking, 'type', 'thinking');
}
