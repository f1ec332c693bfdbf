import type { Tool, ToolChoice } from '#inference/tool.js';
import {
  asObject,
  invalidField,
  isAbsent,
  isObject,
  type JsonObject,
  readName,
  readObject,
  readOptionalObject,
  readOptionalString,
  readOptionalTrue,
  readTools,
} from '../body-fields.js';
import { parseToolChoiceMode } from '../tool-choice-mode.js';
import type { WireNames } from '../wire-names.js';

/** `tools` to canonical tools: functions only, each name once (C-9). */
export function parseTools(source: JsonObject, names: WireNames): Tool[] {
  const declared = new Set<string>();
  return readTools(source).map((value, index) => {
    const path = `tools[${index}]`;
    const tool = parseTool(asObject(value, path), path, names);
    if (declared.has(tool.key.name)) throw invalidField(`${path}.function.name`, 'is declared twice');
    declared.add(tool.key.name);
    return tool;
  });
}

function parseTool(entry: JsonObject, path: string, names: WireNames): Tool {
  if (readName(entry, 'type', path) !== 'function') throw invalidField(`${path}.type`, 'must be function');
  const definition = readObject(entry, 'function', path);
  const functionPath = `${path}.function`;
  const key = { name: readName(definition, 'name', functionPath) };
  return {
    key,
    wireName: names.nameFor(key),
    kind: 'function',
    description: readOptionalString(definition, 'description', functionPath),
    parameters: readOptionalObject(definition, 'parameters', functionPath) ?? { type: 'object', properties: {} },
    strict: readOptionalTrue(definition, 'strict', functionPath),
  };
}

/** A choice without tools is dropped, whatever it says: upstreams refuse it, clients send it (C-9). */
export function parseToolChoice(source: JsonObject, tools: readonly Tool[]): ToolChoice | undefined {
  const choice = source.tool_choice;
  if (isAbsent(choice) || tools.length === 0) return undefined;
  if (typeof choice === 'string') return { kind: parseToolChoiceMode(choice, 'tool_choice') };
  if (!isObject(choice)) throw invalidField('tool_choice', 'must be a string or an object');
  switch (readName(choice, 'type', 'tool_choice')) {
    case 'function':
      return parseForcedTool(choice, tools);
    case 'allowed_tools':
      return parseAllowedTools(choice);
    default:
      throw invalidField('tool_choice.type', 'must be function or allowed_tools');
  }
}

function parseForcedTool(choice: JsonObject, tools: readonly Tool[]): ToolChoice {
  const name = readName(readObject(choice, 'function', 'tool_choice'), 'name', 'tool_choice.function');
  const forced = tools.find((tool) => tool.key.name === name);
  if (forced === undefined) throw invalidField('tool_choice.function.name', 'must be the name of one of `tools`');
  return { kind: 'tool', wireName: forced.wireName };
}

/** The list in it is a hint for prompt caches; only its mode counts (C-9). Clients nest it or leave it flat. */
function parseAllowedTools(choice: JsonObject): ToolChoice {
  const nested = readOptionalObject(choice, 'allowed_tools', 'tool_choice');
  const path = nested === undefined ? 'tool_choice' : 'tool_choice.allowed_tools';
  return { kind: parseToolChoiceMode(readName(nested ?? choice, 'mode', path), `${path}.mode`) };
}
