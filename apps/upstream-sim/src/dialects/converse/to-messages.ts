import { isObject, type Json, parseJson } from '../../field-checks.js';
import { SimError } from '../../sim-error.js';

/** Output of a request without a cap. */
const OUTPUT_TOKENS_MAX = 4_096;
const CALL_ID = /^[a-zA-Z0-9_-]{1,64}$/;

/**
 * Returns a body as one of Anthropic's Messages, with the same rules for roles, texts and caches. Refuses what the real server would refuse
 * besides: calls and results without tools, ids and names of other characters, results without content, and blocks of several members.
 */
export function toMessagesBody(body: string, model: string): string {
  const value = parseJson(body);
  if (!isObject(value) || !Array.isArray(value.messages)) throw wrong('messages', 'Member must not be null');
  const { system, messages, inferenceConfig, toolConfig, outputConfig } = value;
  const config = isObject(inferenceConfig) ? inferenceConfig : {};
  const { tools, toolChoice } = isObject(toolConfig) ? toolConfig : {};
  if (toolConfig !== undefined && (!Array.isArray(tools) || tools.length === 0))
    throw wrong('toolConfig.tools', 'Member must not be empty');
  if (tools === undefined && /"tool(?:Use|Result)":\{/.test(JSON.stringify(messages)))
    throw SimError.invalid('The toolConfig field must be defined when using toolUse and toolResult content blocks.', 'toolConfig');
  return JSON.stringify({
    model,
    max_tokens: config.maxTokens ?? OUTPUT_TOKENS_MAX,
    system: system === undefined ? undefined : toBlocks(system, 'system'),
    messages: messages.map((message, index) => {
      const { role, content } = isObject(message) ? message : {};
      return { role, content: toBlocks(content, `messages.${index}.content`) };
    }),
    tools: tools === undefined ? undefined : toTools(tools as unknown[]),
    tool_choice: toChoice(toolChoice),
    stop_sequences: config.stopSequences,
    output_config: toFormat(outputConfig),
  });
}

/** A cache point marks the block before it. */
function toBlocks(content: unknown, at: string): Json[] {
  if (!Array.isArray(content) || content.length === 0) throw wrong(at, 'The content field is empty');
  const blocks: Json[] = [];
  for (const [index, block] of content.entries()) {
    const [[name, fields] = [], ...others] = isObject(block) ? Object.entries(block) : [];
    if (name === undefined || others.length > 0) throw wrong(`${at}.${index}`, 'must have one member');
    if (name !== 'cachePoint') blocks.push(toBlock(name, fields, `${at}.${index}`));
    else if (blocks.length === 0) throw wrong(`${at}.${index}`, 'A cache point cannot be first');
    else
      Object.assign(blocks.at(-1) as Json, {
        cache_control: { type: 'ephemeral', ...(isObject(fields) && fields.ttl ? { ttl: fields.ttl } : {}) },
      });
  }
  return blocks;
}

function toBlock(name: string, fields: unknown, at: string): Json {
  if (name === 'text' && typeof fields === 'string') return { type: 'text', text: fields };
  const { toolUseId: id, name: tool, input, content, status, format, source, json } = isObject(fields) ? fields : {};
  if (name === 'json') return { type: 'text', text: JSON.stringify(json ?? fields) };
  if (name === 'image' && isObject(source))
    return { type: 'image', source: { type: 'base64', media_type: `image/${String(format)}`, data: source.bytes } };
  if ((name === 'toolUse' || name === 'toolResult') && !CALL_ID.test(String(id)))
    throw wrong(`${at}.${name}.toolUseId`, 'Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+');
  if (name === 'toolUse' && /^[a-zA-Z0-9_-]{1,64}$/.test(String(tool))) return { type: 'tool_use', id, name: tool, input };
  if (name === 'toolResult') {
    const blocks = toBlocks(content, at).filter((block) => block.text !== '{}'); // an empty object says nothing
    return { type: 'tool_result', tool_use_id: id, content: blocks, ...(status === 'error' && { is_error: true }) };
  }
  throw wrong(at, `a block ${name} is not expected here`);
}

function toTools(tools: unknown[]): Json[] {
  return tools.map((tool) => {
    const { toolSpec } = isObject(tool) ? tool : {};
    const { name, description, inputSchema, strict } = isObject(toolSpec) ? toolSpec : {};
    if (description === '') throw wrong('toolConfig.tools.toolSpec.description', 'Member must have length greater than or equal to 1');
    return { name, description, input_schema: isObject(inputSchema) ? inputSchema.json : undefined, strict };
  });
}

function toChoice(choice: unknown): Json | undefined {
  if (!isObject(choice)) return undefined;
  const { any, tool } = choice;
  return isObject(tool) ? { type: 'tool', name: tool.name } : { type: any === undefined ? 'auto' : 'any' };
}

function toFormat(outputConfig: unknown): Json | undefined {
  const { textFormat } = isObject(outputConfig) ? outputConfig : {};
  const { structure } = isObject(textFormat) ? textFormat : {};
  const { jsonSchema } = isObject(structure) ? structure : {};
  return isObject(jsonSchema) ? { format: { type: 'json_schema', schema: parseJson(String(jsonSchema.schema)) } } : undefined;
}

function wrong(field: string, message: string): SimError {
  return SimError.invalid(`1 validation error detected: Value at '${field}' failed to satisfy constraint: ${message}`, field);
}
