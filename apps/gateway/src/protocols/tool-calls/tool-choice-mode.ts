import type { Tool, ToolChoice } from '#inference/tool.js';
import { asObject, invalidField, isAbsent, type JsonObject, readArray } from '../body-fields/body-fields.js';

/** The tools for the upstream, and how the model may choose among them. */
export interface ToolUse {
  tools: readonly Tool[];
  toolChoice?: ToolChoice;
}

type ToolChoiceMode = 'none' | 'auto' | 'required';

/** Parses a tool choice of chat or responses that names no tool. */
export function parseToolChoiceMode(mode: string, param: string): ToolChoiceMode {
  if (mode === 'none' || mode === 'auto' || mode === 'required') return mode;
  throw invalidField(param, 'must be one of none, auto, required');
}

/** Applies a mode to the tools. Without tools, `auto` and `none` have no effect, and `required` throws `invalid_request`. */
export function useInMode(mode: ToolChoiceMode, tools: readonly Tool[], param: string): ToolUse {
  if (tools.length > 0) return { tools, toolChoice: { kind: mode } };
  if (mode === 'required') throw invalidField(param, 'requires a call, but there is no function or custom tool to call');
  return { tools };
}

/** Returns the declared tools that `allowed_tools` lists, in order of declaration. `find` returns undefined for a hosted tool. */
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
