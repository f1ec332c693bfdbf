import type { Tool, ToolChoice } from '#inference/tool.js';
import { asObject, invalidField, isAbsent, type JsonObject, readArray } from '../body-fields/body-fields.js';

/** The tools that go upstream, and how the model may choose among them. */
export interface ToolUse {
  tools: readonly Tool[];
  toolChoice?: ToolChoice;
}

type ToolChoiceMode = 'none' | 'auto' | 'required';

/** A tool choice that names no tool, in the words that chat and responses share (spec 4.3, 4.4). */
export function parseToolChoiceMode(mode: string, param: string): ToolChoiceMode {
  if (mode === 'none' || mode === 'auto' || mode === 'required') return mode;
  throw invalidField(param, 'must be one of none, auto, required');
}

/** A choice among tools that may be none: `auto` and `none` then say nothing, and `required` cannot be satisfied. */
export function useInMode(mode: ToolChoiceMode, tools: readonly Tool[], param: string): ToolUse {
  if (tools.length > 0) return { tools, toolChoice: { kind: mode } };
  if (mode === 'required') throw invalidField(param, 'requires a call, but there is no function or custom tool to call');
  return { tools };
}

/** The declared tools that `allowed_tools` lists, in the order of their declaration. `find` returns undefined for a hosted tool. */
export function parseAllowedTools(
  owner: JsonObject,
  path: string,
  tools: readonly Tool[],
  find: (entry: JsonObject, path: string) => Tool | undefined,
): Tool[] {
  if (isAbsent(owner.tools)) throw invalidField(`${path}.tools`, 'is required');
  const allowed = new Set(
    readArray(owner, 'tools', path).map((entry, index) => {
      const entryPath = `${path}.tools[${index}]`;
      return find(asObject(entry, entryPath), entryPath);
    }),
  );
  return tools.filter((tool) => allowed.has(tool));
}
