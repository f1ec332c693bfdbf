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
import { parseCustomTool } from '../tool-calls/custom-tool.js';
import { parseAllowedTools, parseToolChoiceMode, type ToolUse, useInMode } from '../tool-calls/tool-choice-mode.js';
import type { WireNames } from '../tool-calls/wire-names.js';

/** Parses `tools`: functions and custom tools, each name once. */
export function parseTools(source: JsonObject, names: WireNames): Tool[] {
  const declared = new Set<string>();
  return readTools(source).map((value, index) => {
    const path = `tools[${index}]`;
    const tool = parseTool(asObject(value, path), path, names);
    if (declared.has(tool.key.name)) throw invalidField(`${path}.${tool.kind}.name`, 'is declared twice');
    declared.add(tool.key.name);
    return tool;
  });
}

function parseTool(entry: JsonObject, path: string, names: WireNames): Tool {
  const kind = readKind(entry, path);
  const definition = readObject(entry, kind, path);
  const definitionPath = `${path}.${kind}`;
  // `key` is the client's name, `wireName` one that every upstream accepts.
  const key = { name: readName(definition, 'name', definitionPath) };
  if (kind === 'custom') return parseCustomTool(definition, definitionPath, key, names);
  return {
    key,
    wireName: names.nameFor(key),
    kind,
    description: readOptionalString(definition, 'description', definitionPath),
    parameters: readOptionalObject(definition, 'parameters', definitionPath) ?? { type: 'object', properties: {} },
    strict: readOptionalTrue(definition, 'strict', definitionPath),
  };
}

/** Reads the `type` of a tool or of a call. It is also the name of the field with its definition. */
export function readKind(owner: JsonObject, path: string): Tool['kind'] {
  const type = readName(owner, 'type', path);
  if (type === 'function' || type === 'custom') return type;
  throw invalidField(`${path}.type`, 'must be function or custom');
}

/**
 * Parses `tool_choice`. Returns the choice and the tools for the upstream: all of them, or only the allowed ones. Without tools, `auto` and
 * `none` are dropped, because clients send them and upstreams refuse them; a choice that forces a call is refused. `any` is Mistral's word.
 */
export function parseToolUse(source: JsonObject, tools: readonly Tool[]): ToolUse {
  const choice = source.tool_choice;
  if (isAbsent(choice)) return { tools };
  if (choice === 'any') return useInMode('required', tools, 'tool_choice');
  if (typeof choice === 'string') return useInMode(parseToolChoiceMode(choice, 'tool_choice'), tools, 'tool_choice');
  if (!isObject(choice)) throw invalidField('tool_choice', 'must be a string or an object');
  switch (readName(choice, 'type', 'tool_choice')) {
    case 'function':
    case 'custom': {
      const kind = readKind(choice, 'tool_choice');
      const { wireName } = findNamed(readObject(choice, kind, 'tool_choice'), `tool_choice.${kind}`, tools);
      return { tools, toolChoice: { kind: 'tool', wireName } };
    }
    case 'allowed_tools':
      return useAllowedTools(choice, tools);
    default:
      throw invalidField('tool_choice.type', 'must be function, custom or allowed_tools');
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
    return findNamed(...nestedOrFlat(entry, readKind(entry, entryPath), entryPath), tools);
  });
  return useInMode(mode, allowed, `${path}.tools`);
}

function nestedOrFlat(owner: JsonObject, field: string, path: string): [JsonObject, string] {
  const nested = readOptionalObject(owner, field, path);
  return nested === undefined ? [owner, path] : [nested, `${path}.${field}`];
}
