import type { Tool } from '#inference/tool.js';
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
} from '../body-fields/body-fields.js';
import { parseAllowedTools, parseToolChoiceMode, type ToolUse, useInMode } from '../tool-calls/tool-choice-mode.js';
import type { WireNames } from '../tool-calls/wire-names.js';

/** Parses `tools`: functions only, each name once. */
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
  // `key` is the client's name, `wireName` one that every upstream accepts.
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

/**
 * Parses `tool_choice`. Returns the choice and the tools for the upstream: all of them, or only the allowed ones. Without tools the choice
 * is dropped: clients send it, but upstreams refuse it.
 */
export function parseToolUse(source: JsonObject, tools: readonly Tool[]): ToolUse {
  const choice = source.tool_choice;
  if (isAbsent(choice) || tools.length === 0) return { tools };
  if (typeof choice === 'string') return useInMode(parseToolChoiceMode(choice, 'tool_choice'), tools, 'tool_choice');
  if (!isObject(choice)) throw invalidField('tool_choice', 'must be a string or an object');
  switch (readName(choice, 'type', 'tool_choice')) {
    case 'function':
      return {
        tools,
        toolChoice: {
          kind: 'tool',
          wireName: findNamed(readObject(choice, 'function', 'tool_choice'), 'tool_choice.function', tools).wireName,
        },
      };
    case 'allowed_tools':
      return useAllowedTools(choice, tools);
    default:
      throw invalidField('tool_choice.type', 'must be function or allowed_tools');
  }
}

function findNamed(owner: JsonObject, path: string, tools: readonly Tool[]): Tool {
  const name = readName(owner, 'name', path);
  const named = tools.find((tool) => tool.key.name === name);
  if (named === undefined) throw invalidField(`${path}.name`, 'must be the name of one of `tools`');
  return named;
}

/** Parses an `allowed_tools` choice. Clients nest the list and its entries, as chat does, or leave both flat, as Responses does. */
function useAllowedTools(choice: JsonObject, tools: readonly Tool[]): ToolUse {
  const [owner, path] = nestedOrFlat(choice, 'allowed_tools', 'tool_choice');
  const mode = parseToolChoiceMode(readName(owner, 'mode', path), `${path}.mode`);
  const allowed = parseAllowedTools(owner, path, tools, (entry, entryPath) => {
    if (readName(entry, 'type', entryPath) !== 'function') throw invalidField(`${entryPath}.type`, 'must be function');
    return findNamed(...nestedOrFlat(entry, 'function', entryPath), tools);
  });
  return useInMode(mode, allowed, `${path}.tools`);
}

function nestedOrFlat(owner: JsonObject, field: string, path: string): [JsonObject, string] {
  const nested = readOptionalObject(owner, field, path);
  return nested === undefined ? [owner, path] : [nested, `${path}.${field}`];
}
