import type { Tool } from '#inference/tool.js';
import { asObjectSchema } from './object-schema.js';
import type { Schema } from './schema-reference.js';
import { isStrictSchema } from './strict-schema.js';

interface FunctionTool {
  description: string | undefined;
  parameters: Schema;
  strict: boolean | undefined;
}

/**
 * Returns a tool as a function, for dialects without custom tools. A custom tool becomes a function of one text, whose calls
 * `WrappedInput` unwraps. A function gets a schema that vendors accept; it is no longer strict if that schema lacks a part.
 */
export function asFunction(tool: Tool): FunctionTool {
  if (tool.kind === 'custom') {
    const oneText = { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] };
    return { description: describeWithGrammar(tool), parameters: oneText, strict: undefined };
  }
  const { description, parameters = {}, strict } = tool;
  const { schema, conditions } = asObjectSchema(parameters);
  if (conditions.length === 0) return { description, parameters: schema, strict };
  return {
    description: [description, ...conditions].filter(Boolean).join('\n\n'),
    parameters: schema,
    strict: strict && isStrictSchema(schema),
  };
}

/** Returns the description of a custom tool, with its grammar where the upstream has no field for it. */
export function describeWithGrammar({ description, grammar }: Tool): string | undefined {
  const hint = grammar && `The input follows this ${grammar.syntax} grammar:\n${grammar.definition}`;
  return [description, hint].filter(Boolean).join('\n\n') || undefined;
}
