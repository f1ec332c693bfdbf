import type { Tool, ToolKey } from '#inference/tool.js';
import { isObject, type JsonObject, readOptionalString } from '../body-fields/body-fields.js';
import type { WireNames } from './wire-names.js';

/** Parses the definition of a custom tool, in chat or responses. `key` is the client's name of the tool. */
export function parseCustomTool(definition: JsonObject, path: string, key: ToolKey, names: WireNames): Tool {
  return {
    key,
    wireName: names.nameFor(key),
    kind: 'custom',
    description: readOptionalString(definition, 'description', path),
    grammar: parseGrammar(definition.format),
  };
}

/** Reads the grammar of a custom tool: nested, as in chat, or flat, as in responses. It is a hint: an invalid grammar is ignored. */
function parseGrammar(format: unknown): Tool['grammar'] {
  if (!isObject(format) || format.type !== 'grammar') return undefined;
  const { syntax, definition } = isObject(format.grammar) ? format.grammar : format;
  return typeof syntax === 'string' && typeof definition === 'string' ? { syntax, definition } : undefined;
}
