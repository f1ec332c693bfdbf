import type { ChatMessage, ChatPart, ChatRequest, ChatTool } from '../../chat-request.js';
import { isObject, type Json, parseJson } from '../../field-checks.js';
import { SimError } from '../../sim-error.js';
import { isSignature } from './signature.js';

interface GeminiRequest {
  chat: ChatRequest;
  /** Thoughts are part of the reply; they are counted either way. */
  showsThoughts: boolean;
}

const STOP_SEQUENCES_MAX = 5;

/**
 * Parses a request body to a chat request. As strict as the real server where a proxy's mistakes would show: contents that begin with the
 * model, empty parts, results that do not match the calls before them, and signatures that are not those of their calls are refused.
 */
export function parseGeminiRequest(body: string, model: string, stream: boolean): GeminiRequest {
  const value = parseJson(body);
  if (!isObject(value)) throw SimError.invalid('Invalid JSON payload received.');
  const { contents, systemInstruction, tools, toolConfig, generationConfig } = value;
  if (!Array.isArray(contents) || contents.length === 0) throw wrong('contents', 'contents is not specified');
  const config = isObject(generationConfig) ? generationConfig : {};
  const stops = config.stopSequences ?? [];
  if (!Array.isArray(stops) || stops.length > STOP_SEQUENCES_MAX || !stops.every((stop) => typeof stop === 'string' && stop !== '')) {
    throw wrong('generation_config.stop_sequences', 'at most 5 sequences');
  }
  const thinking = isObject(config.thinkingConfig) ? config.thinkingConfig : {};
  const isOff = thinking.thinkingBudget === 0 || thinking.thinkingLevel === 'MINIMAL';
  const system = isObject(systemInstruction)
    ? [{ role: 'system', content: readTexts(systemInstruction, 'system_instruction') } as const]
    : [];
  return {
    chat: {
      model,
      messages: [...system, ...contents.flatMap(readContent)],
      stream,
      max_tokens: typeof config.maxOutputTokens === 'number' ? config.maxOutputTokens : null,
      stop: stops.length > 0 ? stops : null,
      tools: readTools(tools),
      tool_choice: readChoice(toolConfig),
      response_format: readFormat(config),
      ...(isOff && { reasoning_effort: 'none' }),
    },
    showsThoughts: thinking.includeThoughts === true,
  };
}

function readFormat({ responseMimeType, responseJsonSchema }: Json): ChatRequest['response_format'] {
  if (responseMimeType !== 'application/json') return null;
  return isObject(responseJsonSchema) ? { type: 'json_schema', json_schema: { schema: responseJsonSchema } } : { type: 'json_object' };
}

function readTools(tools: unknown): ChatTool[] | null {
  if (!Array.isArray(tools) || tools.length === 0) return null;
  return tools.flatMap((group) => {
    const declared = isObject(group) ? group.functionDeclarations : undefined;
    if (!Array.isArray(declared) || declared.length === 0) throw wrong('tools', 'function_declarations are required');
    return declared.map(({ name, description, parametersJsonSchema: parameters }: Json): ChatTool => {
      if (typeof name !== 'string' || !/^[A-Za-z_][\w.:-]{0,127}$/.test(name))
        throw wrong('tools.function_declarations.name', 'Invalid function name');
      return { type: 'function', function: { name, description: description as string, parameters: parameters as Json } };
    });
  });
}

function readChoice(toolConfig: unknown): ChatRequest['tool_choice'] {
  const config = isObject(toolConfig) && isObject(toolConfig.functionCallingConfig) ? toolConfig.functionCallingConfig : {};
  const { mode, allowedFunctionNames: allowed } = config;
  if (mode === 'NONE') return 'none';
  if (mode !== 'ANY') return null;
  return Array.isArray(allowed) ? { type: 'function', function: { name: String(allowed[0]) } } : 'required';
}

function readContent(content: unknown, index: number, all: unknown[]): ChatMessage[] {
  const at = `contents[${index}]`;
  if (!isObject(content) || (content.role !== 'user' && content.role !== 'model'))
    throw wrong(`${at}.role`, 'Please use a valid role: user, model.');
  if (index === 0 && content.role !== 'user')
    throw wrong(at, 'Please ensure that a function call turn comes immediately after a user turn.');
  const parts = readParts(content, at);
  const results = parts.filter(({ functionResponse }) => functionResponse !== undefined);
  if (results.length !== countCalls(all[index - 1])) {
    throw wrong(at, 'Please ensure that the number of function response parts is equal to the number of function call parts.');
  }
  if (content.role === 'model') return [readModel(parts, at)];
  const others = parts.filter(({ functionResponse }) => functionResponse === undefined);
  return [
    ...results.map(readResult),
    ...(others.length === 0 ? [] : [{ role: 'user', content: others.map((part) => readPart(part, at)) } as ChatMessage]),
  ];
}

function countCalls(content: unknown): number {
  const parts = isObject(content) && content.role === 'model' && Array.isArray(content.parts) ? content.parts : [];
  return parts.filter((part) => isObject(part) && part.functionCall !== undefined).length;
}

function readParts({ parts }: Json, at: string): Json[] {
  if (!Array.isArray(parts) || parts.length === 0 || !parts.every(isObject))
    throw wrong(`${at}.parts`, 'must include at least one parts field');
  return parts;
}

function readTexts(content: Json, at: string): ChatPart[] {
  return readParts(content, at).map((part) => readPart(part, at));
}

function readPart({ text, inlineData }: Json, at: string): ChatPart {
  if (typeof text === 'string' && text !== '') return { type: 'text', text };
  if (isObject(inlineData)) return { type: 'image_url', image_url: { url: `data:${inlineData.mimeType};base64,${inlineData.data}` } };
  throw wrong(`${at}.parts`, "required oneof field 'data' must have one initialized field");
}

function readModel(parts: Json[], at: string): ChatMessage {
  const calls = parts.filter(({ functionCall }) => functionCall !== undefined);
  for (const { functionCall, thoughtSignature } of calls) {
    const { name, args } = functionCall as Json;
    if (!isObject(args)) throw wrong(`${at}.function_call.args`, 'must be an object');
    if (thoughtSignature !== undefined && !isSignature(thoughtSignature, String(name))) throw wrong(at, 'Thought signature is not valid.');
  }
  return {
    role: 'assistant',
    content: parts.filter(({ functionCall }) => functionCall === undefined).map((part) => readPart(part, at)),
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ functionCall }) => {
        const { id, name, args } = functionCall as Json;
        return { id: String(id), function: { name: String(name), arguments: JSON.stringify(args) } };
      }),
    }),
  };
}

function readResult({ functionResponse }: Json): ChatMessage {
  const { id, response } = functionResponse as Json;
  const { output, error } = isObject(response) ? response : {};
  return { role: 'tool', tool_call_id: String(id), content: String(output ?? error ?? JSON.stringify(response)) };
}

function wrong(field: string, message: string): SimError {
  return SimError.invalid(`* GenerateContentRequest.${field}: ${message}\n`, field);
}
