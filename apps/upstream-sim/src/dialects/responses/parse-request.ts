import type { ChatRequest, ChatTool } from '../../chat-request.js';
import { checkCacheFields, invalidValue, isObject, parseBody } from '../../field-checks.js';
import { SimError } from '../../sim-error.js';
import { parseInput } from './parse-input.js';

/** The parts of a request that decide the shape of its reply. */
export interface ReplyShape {
  /** Names of the tools that take one text. */
  customTools: ReadonlySet<string>;
  /** The reply has a summary of its reasoning instead of the reasoning itself. */
  reasoningSummary: boolean;
}

/** Fields of other dialects. A proxy that sends one has mixed up its dialects. */
const UNKNOWN = [
  'messages',
  'max_tokens',
  'max_completion_tokens',
  'stop',
  'seed',
  'presence_penalty',
  'frequency_penalty',
  'response_format',
];
/** Fields that need state on the server, which the simulator does not keep. */
const STATE = ['previous_response_id', 'conversation', 'prompt', 'background'];
/** OpenAI's own minimum. */
const OUTPUT_TOKENS_MIN = 16;

/** Parses a request as strictly as the real server does. Every refusal is a 400 that names the field. */
export function parseResponsesRequest(body: string): { chat: ChatRequest; shape: ReplyShape } {
  const value = parseBody(body);
  for (const field of UNKNOWN) if (value[field] != null) throw SimError.invalid(`Unknown parameter: '${field}'.`, field);
  for (const field of STATE) if (value[field]) throw SimError.invalid(`Unsupported parameter: '${field}'.`, field);
  const limit = value.max_output_tokens;
  if (limit != null && (!Number.isInteger(limit) || (limit as number) < OUTPUT_TOKENS_MIN)) {
    throw invalidValue('max_output_tokens', `an integer of at least ${OUTPUT_TOKENS_MIN}`);
  }
  checkCacheFields(value);
  const tools = parseTools(value.tools);
  const chat = {
    model: value.model,
    messages: [
      ...(typeof value.instructions === 'string' ? [{ role: 'system' as const, content: value.instructions }] : []),
      ...parseInput(value.input),
    ],
    stream: value.stream === true,
    max_completion_tokens: limit as number | null | undefined,
    tools: tools.length === 0 ? undefined : tools.map(({ tool }) => tool),
    tool_choice: parseToolChoice(value.tool_choice, tools),
    parallel_tool_calls: value.parallel_tool_calls as boolean | undefined,
    response_format: parseFormat(value.text),
    reasoning_effort: isObject(value.reasoning) ? value.reasoning.effort : undefined,
    prompt_cache_key: value.prompt_cache_key as string | null | undefined,
    cache_salt: value.cache_salt as string | null | undefined,
  };
  const customTools = new Set(tools.flatMap(({ tool, custom }) => (custom ? [tool.function.name] : [])));
  return { chat, shape: { customTools, reasoningSummary: isObject(value.reasoning) && value.reasoning.summary != null } };
}

interface ParsedTool {
  tool: ChatTool;
  custom: boolean;
}

function parseTools(tools: unknown): ParsedTool[] {
  if (tools == null) return [];
  if (!Array.isArray(tools)) throw invalidValue('tools', 'an array');
  return tools.map((tool: unknown, index) => {
    if (!isObject(tool) || typeof tool.name !== 'string' || (tool.type !== 'function' && tool.type !== 'custom')) {
      throw invalidValue(`tools[${index}]`, 'a function or custom tool with a name');
    }
    const description = typeof tool.description === 'string' ? tool.description : undefined;
    if (tool.type === 'custom') return { tool: asFunction(tool.name, description, tool.format), custom: true };
    if (!isObject(tool.parameters)) throw invalidValue(`tools[${index}].parameters`, 'an object');
    return { tool: { type: 'function', function: { name: tool.name, description, parameters: tool.parameters } }, custom: false };
  });
}

/** A custom tool counts as a function with one text parameter, so that usage is the same in every dialect. */
function asFunction(name: string, description: string | undefined, format: unknown): ChatTool {
  const grammar =
    isObject(format) && format.type === 'grammar'
      ? `The input follows this ${String(format.syntax)} grammar:\n${String(format.definition)}`
      : undefined;
  return {
    type: 'function',
    function: {
      name,
      description: [description, grammar].filter(Boolean).join('\n\n') || undefined,
      parameters: { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] },
    },
  };
}

function parseToolChoice(choice: unknown, tools: ParsedTool[]): ChatRequest['tool_choice'] {
  if (choice == null || choice === 'auto' || choice === 'none') return choice ?? undefined;
  if (tools.length === 0) throw SimError.invalid("Tool choices are only allowed when 'tools' are specified.", 'tool_choice');
  if (choice === 'required') return choice;
  if (!isObject(choice)) throw invalidValue('tool_choice', 'none, auto, required or a tool');
  const found = tools.find(({ tool, custom }) => tool.function.name === choice.name && choice.type === (custom ? 'custom' : 'function'));
  if (!found) throw SimError.invalid(`Tool choice '${String(choice.name)}' not found in 'tools' parameter.`, 'tool_choice');
  return { type: 'function', function: { name: found.tool.function.name } };
}

function parseFormat(text: unknown): ChatRequest['response_format'] {
  const format = isObject(text) ? text.format : undefined;
  if (!isObject(format) || format.type === 'text') return undefined;
  if (format.type === 'json_object') return { type: 'json_object' };
  if (format.type !== 'json_schema' || typeof format.name !== 'string' || !isObject(format.schema)) {
    throw invalidValue('text.format', 'text, json_object or a json_schema with name and schema');
  }
  return { type: 'json_schema', json_schema: { name: format.name, schema: format.schema } };
}
