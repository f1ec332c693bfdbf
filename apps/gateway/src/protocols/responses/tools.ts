import type { Tool, ToolKey } from '#inference/tool.js';
import {
  asObject,
  fieldPath,
  invalidField,
  isAbsent,
  isObject,
  type JsonObject,
  readArray,
  readName,
  readOptionalObject,
  readOptionalString,
  readOptionalTrue,
  TOOLS_MAX,
  tooManyTools,
} from '../body-fields/body-fields.js';
import { parseCustomTool } from '../tool-calls/custom-tool.js';
import { isPlaceholder } from '../tool-calls/placeholder.js';
import { parseAllowedTools, parseToolChoiceMode, type ToolUse, useInMode } from '../tool-calls/tool-choice-mode.js';
import type { WireNames } from '../tool-calls/wire-names.js';

/**
 * Parses `tools` and the tools of items that load more. Namespaces are flattened; the key keeps them. Entries of other types are hosted
 * tools and are dropped unread.
 */
export function parseTools(source: JsonObject, names: WireNames): Tool[] {
  const tools = new Map<string, Tool>();
  for (const [tool, path] of parseEntries(source, '', undefined, names)) {
    const identity = toIdentity(tool.key);
    if (tools.has(identity)) throw invalidField(`${path}.name`, 'is declared twice');
    if (tools.size === TOOLS_MAX) throw tooManyTools();
    tools.set(identity, tool);
  }
  // A later item replaces earlier declarations.
  for (const [tool] of loadedTools(source, names)) {
    tools.set(toIdentity(tool.key), tool);
    if (tools.size > TOOLS_MAX) throw tooManyTools();
  }
  return [...tools.values()];
}

/** The tools of one request, and the lookup of tools by name for calls and choices. */
export class DeclaredTools {
  private readonly byIdentity = new Map<string, Tool>();
  /** Null for a name that several namespaces share. */
  private readonly byName = new Map<string, Tool | null>();

  constructor(
    readonly tools: readonly Tool[],
    private readonly names: WireNames,
  ) {
    for (const tool of tools) {
      const { name } = tool.key;
      this.byIdentity.set(toIdentity(tool.key), tool);
      this.byName.set(name, this.byName.has(name) ? null : tool);
    }
  }

  /** Finds a tool. An unambiguous name suffices without its namespace, because some clients drop the namespace. */
  find(key: ToolKey): Tool | undefined {
    const named = key.namespace === undefined ? this.byName.get(key.name) : undefined;
    return this.byIdentity.get(toIdentity(key)) ?? named ?? undefined;
  }

  /** Returns the upstream's name of a called tool: that of its declaration, or a new one if it is no longer declared. */
  toWireName(key: ToolKey): string {
    return this.find(key)?.wireName ?? this.names.nameFor(key);
  }
}

/** Applies `tool_choice` to the declared tools. */
export function parseToolUse(source: JsonObject, declared: DeclaredTools): ToolUse {
  const { tools } = declared;
  const choice = source.tool_choice;
  if (isAbsent(choice)) return { tools };
  if (typeof choice === 'string') return useInMode(parseToolChoiceMode(choice, 'tool_choice'), tools, 'tool_choice');
  if (!isObject(choice)) throw invalidField('tool_choice', 'must be a string or an object');
  switch (readName(choice, 'type', 'tool_choice')) {
    case 'function':
    case 'custom':
      return { tools, toolChoice: { kind: 'tool', wireName: findChosen(choice, 'tool_choice', declared).wireName } };
    case 'allowed_tools': {
      const mode = parseToolChoiceMode(readName(choice, 'mode', 'tool_choice'), 'tool_choice.mode');
      const allowed = parseAllowedTools(choice, 'tool_choice', tools, (entry, path) =>
        isHosted(readName(entry, 'type', path)) ? undefined : findChosen(entry, path, declared),
      );
      return useInMode(mode, allowed, 'tool_choice.tools');
    }
    default:
      throw invalidField('tool_choice.type', 'must be function, custom or allowed_tools: hosted tools are not available');
  }
}

/** True for any type except those of the client's own tools. */
function isHosted(type: unknown): boolean {
  return type !== 'function' && type !== 'custom';
}

function findChosen(choice: JsonObject, path: string, declared: DeclaredTools): Tool {
  const tool = declared.find(readToolKey(choice, path));
  if (tool === undefined) throw invalidField(`${path}.name`, 'must be the name of one of `tools`');
  return tool;
}

/**
 * Returns the entries of `tools` as a Response repeats them: without hosted tools, and with null for required fields that the request omits.
 * `parseTools` has validated them.
 */
export function echoTools(owner: JsonObject, isNested = false): JsonObject[] {
  return readArray(owner, 'tools', '').flatMap((value) => {
    const entry = value as JsonObject;
    const { type, description = null, parameters = null, strict = null } = entry;
    if (type === 'function') return [{ ...entry, description, parameters, strict }];
    if (type === 'custom') return [entry];
    return type === 'namespace' && !isNested ? [{ ...entry, description: description ?? '', tools: echoTools(entry, true) }] : [];
  });
}

/** Reads the key of a tool: its name and, if any, namespace. */
export function readToolKey(owner: JsonObject, path: string): ToolKey {
  return toolKey(readName(owner, 'name', path), readOptionalString(owner, 'namespace', path));
}

function toolKey(name: string, namespace: string | undefined): ToolKey {
  return namespace === undefined ? { name } : { name, namespace };
}

function toIdentity({ name, namespace }: ToolKey): string {
  return JSON.stringify([namespace ?? null, name]);
}

/** Types of items whose `tools` are declared from there on: `tool_search_output` is the result of a search, also one by the client. */
export const LOADING_ITEMS = ['additional_tools', 'tool_search_output'];

function* loadedTools(source: JsonObject, names: WireNames): Generator<[Tool, string]> {
  if (!Array.isArray(source.input)) return;
  for (const [index, item] of source.input.entries()) {
    if (isObject(item) && LOADING_ITEMS.some((type) => type === item.type)) yield* parseEntries(item, `input[${index}]`, undefined, names);
  }
}

function* parseEntries(owner: JsonObject, path: string, namespace: string | undefined, names: WireNames): Generator<[Tool, string]> {
  for (const [index, value] of readArray(owner, 'tools', path).entries()) {
    const entryPath = `${fieldPath(path, 'tools')}[${index}]`;
    const entry = asObject(value, entryPath);
    const type = readName(entry, 'type', entryPath);
    if (type === 'function') {
      const tool = parseFunction(entry, entryPath, namespace, names);
      if (!isPlaceholder(tool, entry.defer_loading)) yield [tool, entryPath];
    } else if (type === 'custom') {
      yield [parseCustomTool(entry, entryPath, toolKey(readName(entry, 'name', entryPath), namespace), names), entryPath];
    } else if (type === 'namespace' && namespace === undefined) {
      yield* parseEntries(entry, entryPath, readName(entry, 'name', entryPath), names);
    }
  }
}

function parseFunction(entry: JsonObject, path: string, namespace: string | undefined, names: WireNames): Tool {
  const key = toolKey(readName(entry, 'name', path), namespace);
  return {
    key,
    wireName: names.nameFor(key),
    kind: 'function',
    description: readOptionalString(entry, 'description', path),
    parameters: readOptionalObject(entry, 'parameters', path) ?? { type: 'object', properties: {} },
    strict: readOptionalTrue(entry, 'strict', path),
  };
}
