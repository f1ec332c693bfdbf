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
} from '../body-fields/body-fields.js';
import type { WireNames } from '../tool-calls/wire-names.js';

/** Parses `tools`, each name once. Server tools are dropped unread. */
export function parseTools(source: JsonObject, names: WireNames): Tool[] {
  const tools: Tool[] = [];
  const declared = new Set<string>();
  readTools(source).forEach((value, index) => {
    const path = `tools[${index}]`;
    const entry = asObject(value, path);
    if (!isClientTool(entry, path)) return;
    const tool = parseTool(entry, path, names);
    if (declared.has(tool.key.name)) throw invalidField(`${path}.name`, 'is declared twice');
    declared.add(tool.key.name);
    tools.push(tool);
  });
  return tools;
}

function isClientTool(entry: JsonObject, path: string): boolean {
  const type = readOptionalString(entry, 'type', path);
  return type === undefined || type === 'custom';
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

/** Parses `tool_choice`. It is dropped without tools. `disable_parallel_tool_use` is ignored. */
export function parseToolChoice(source: JsonObject, tools: readonly Tool[]): ToolChoice | undefined {
  if (isAbsent(source.tool_choice) || tools.length === 0) return undefined;
  const choice = readObject(source, 'tool_choice', '');
  switch (readName(choice, 'type', 'tool_choice')) {
    case 'auto':
      return { kind: 'auto' };
    case 'any':
      return { kind: 'required' };
    case 'none':
      return { kind: 'none' };
    case 'tool':
      return parseForcedTool(choice, source, tools);
    default:
      throw invalidField('tool_choice.type', 'must be one of auto, any, tool, none');
  }
}

/** Parses the choice of one tool. Forcing a dropped server tool becomes `auto`, because clients do not expect an error for it. */
function parseForcedTool(choice: JsonObject, source: JsonObject, tools: readonly Tool[]): ToolChoice {
  const name = readName(choice, 'name', 'tool_choice');
  const forced = tools.find((tool) => tool.key.name === name);
  if (forced !== undefined) return { kind: 'tool', wireName: forced.wireName };
  const wasDropped = readTools(source).some((entry) => isObject(entry) && entry.name === name);
  if (!wasDropped) throw invalidField('tool_choice.name', 'must be the name of one of `tools`');
  return { kind: 'auto' };
}
