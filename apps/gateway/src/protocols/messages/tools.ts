import type { Tool, ToolChoice } from '#inference/tool.js';
import {
  asObject,
  invalidField,
  isAbsent,
  isObject,
  type JsonObject,
  readName,
  readObject,
  readOptionalString,
  readTools,
  TOOLS_MAX,
  tooManyTools,
} from '../body-fields/body-fields.js';
import { isPlaceholder } from '../tool-calls/placeholder.js';
import type { WireNames } from '../tool-calls/wire-names.js';

/** The tools of one request, after the changes in its system turns. */
export interface DeclaredTools {
  tools: readonly Tool[];
  /** Names of entries that are not forwarded: server tools and placeholders. */
  dropped: ReadonlySet<string>;
}

/** Parses `tools`, each name once, and applies the tool changes of system turns. */
export function parseTools(source: JsonObject, names: WireNames): DeclaredTools {
  const tools = new Map<string, Tool>();
  const dropped = new Set<string>();
  readTools(source).forEach((value, index) => {
    const path = `tools[${index}]`;
    const tool = parseEntry(asObject(value, path), path, names, dropped);
    if (tool === undefined) return;
    if (tools.has(tool.key.name)) throw invalidField(`${path}.name`, 'is declared twice');
    tools.set(tool.key.name, tool);
  });
  applyToolChanges(source, tools, dropped, names);
  return { tools: [...tools.values()], dropped };
}

/**
 * Applies `tool_addition` and `tool_removal` blocks of system turns in order. The model gets the tools that are in effect at the end of the
 * conversation. A reference to an unknown tool, or to one of an MCP server, has no effect: the block stays in the history, so that an error
 * would end the session.
 */
function applyToolChanges(source: JsonObject, tools: Map<string, Tool>, dropped: Set<string>, names: WireNames): void {
  const defined = new Map(tools);
  for (const [block, path] of toolChanges(source)) {
    const change = readObject(block, 'tool', path);
    const changePath = `${path}.tool`;
    const type = readName(change, 'type', changePath);
    if (type === 'tool_definition' && block.type === 'tool_addition') {
      const tool = parseEntry(readObject(change, 'definition', changePath), `${changePath}.definition`, names, dropped);
      if (tool === undefined) continue;
      defined.set(tool.key.name, tool);
      tools.set(tool.key.name, tool);
    } else if (type === 'tool_reference') {
      const name = readName(change, 'name', changePath);
      const tool = defined.get(name);
      if (block.type === 'tool_removal') tools.delete(name);
      else if (tool !== undefined) tools.set(name, tool);
    }
    if (tools.size > TOOLS_MAX) throw tooManyTools();
  }
}

function* toolChanges({ messages }: JsonObject): Generator<[block: JsonObject, path: string]> {
  if (!Array.isArray(messages)) return;
  for (const [index, message] of messages.entries()) {
    if (!isObject(message) || message.role !== 'system' || !Array.isArray(message.content)) continue;
    for (const [place, block] of message.content.entries()) {
      if (isObject(block) && (block.type === 'tool_addition' || block.type === 'tool_removal')) {
        yield [block, `messages[${index}].content[${place}]`];
      }
    }
  }
}

/** Parses an entry of `tools`. For a server tool, which is not read further, and a placeholder only its name is kept, in `dropped`. */
function parseEntry(entry: JsonObject, path: string, names: WireNames, dropped: Set<string>): Tool | undefined {
  const type = readOptionalString(entry, 'type', path);
  if (type === undefined || type === 'custom') {
    const tool = parseTool(entry, path, names);
    if (!isPlaceholder(tool, entry.defer_loading)) return tool;
  }
  if (typeof entry.name === 'string') dropped.add(entry.name);
  return undefined;
}

function parseTool(entry: JsonObject, path: string, names: WireNames): Tool {
  const key = { name: readName(entry, 'name', path) };
  return {
    key,
    wireName: names.nameFor(key),
    kind: 'function',
    description: readOptionalString(entry, 'description', path),
    parameters: readObject(entry, 'input_schema', path),
  };
}

/**
 * Parses `tool_choice`. Without tools, `auto` and `none` are dropped, and a choice that forces a call is refused. A choice that only a
 * dropped server tool could meet counts as `auto`: clients do not expect an error for it. `disable_parallel_tool_use` is ignored.
 */
export function parseToolChoice(source: JsonObject, { tools, dropped }: DeclaredTools): ToolChoice | undefined {
  if (isAbsent(source.tool_choice)) return undefined;
  const choice = readObject(source, 'tool_choice', '');
  const type = readName(choice, 'type', 'tool_choice');
  const isFree = tools.length === 0 ? undefined : ({ kind: 'auto' } as const);
  switch (type) {
    case 'auto':
      return isFree;
    case 'none':
      return tools.length === 0 ? undefined : { kind: 'none' };
    case 'any':
      if (tools.length > 0) return { kind: 'required' };
      if (dropped.size > 0) return undefined;
      throw invalidField('tool_choice.type', 'requires a call, but there is no tool to call');
    case 'tool': {
      const name = readName(choice, 'name', 'tool_choice');
      const forced = tools.find((tool) => tool.key.name === name);
      if (forced !== undefined) return { kind: 'tool', wireName: forced.wireName };
      if (dropped.has(name)) return isFree;
      throw invalidField('tool_choice.name', 'must be the name of one of `tools`');
    }
    default:
      throw invalidField('tool_choice.type', 'must be one of auto, any, tool, none');
  }
}
