import type { Tool } from '#inference/tool.js';

/**
 * Returns a tool as a function, for dialects without custom tools. A custom tool becomes a function of one text, whose calls
 * `WrappedInput` unwraps.
 */
export function asFunction(tool: Tool): { description: string | undefined; parameters: object; strict: boolean | undefined } {
  const { description, parameters = { type: 'object', properties: {} }, strict } = tool;
  if (tool.kind === 'function') return { description, parameters, strict };
  const oneText = { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] };
  return { description: describeWithGrammar(tool), parameters: oneText, strict: undefined };
}

/** Returns the description of a custom tool, with its grammar where the upstream has no field for it. */
export function describeWithGrammar({ description, grammar }: Tool): string | undefined {
  const hint = grammar && `The input follows this ${grammar.syntax} grammar:\n${grammar.definition}`;
  return [description, hint].filter(Boolean).join('\n\n') || undefined;
}
