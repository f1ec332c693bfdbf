import type { PromptText, PromptTextKind, RedactedSpan } from '#contracts/policy.js';
import type { InferenceRequest, OutputFormat } from '#inference/request.js';
import type { Tool } from '#inference/tool.js';
import type { ToolResult, Turn } from '#inference/turn.js';
import { redactText } from './redact-text.js';

/** Returns another text of the same kind, or the same. */
type Change = (kind: PromptTextKind, text: string) => string;

/** Thrown for spans that are not in the texts, or that leave no JSON where there was some. */
export class UnfitSpansError extends Error {
  override readonly name = 'UnfitSpansError';
}

/** Returns the texts of a prompt in their order: those that are as long as the prompt. Names, ids and images are none. */
export function listTexts(request: InferenceRequest): PromptText[] {
  const texts: PromptText[] = [];
  changeTexts(request, (kind, text) => {
    texts.push({ kind, text });
    return text;
  });
  return texts;
}

/**
 * Returns the request with spans of its texts replaced.
 * @throws {UnfitSpansError} for a span that is not within one of the texts `listTexts` returns.
 */
export function redactTexts(request: InferenceRequest, spans: readonly RedactedSpan[]): InferenceRequest {
  const byText = Map.groupBy(spans, ({ text }) => text);
  let index = 0;
  let found = 0;
  const redacted = changeTexts(request, (_, text) => {
    const own = byText.get(index++);
    if (own === undefined) return text;
    found += 1;
    const changed = redactText(text, own);
    if (changed === undefined) throw new UnfitSpansError('A span ends after its text.');
    return changed;
  });
  if (found < byText.size) throw new UnfitSpansError('A span names a text that is not there.');
  return redacted;
}

/** Returns the request with each of its texts changed. Listing and redacting both use it, so an index means the same text in both. */
function changeTexts(request: InferenceRequest, change: Change): InferenceRequest {
  return {
    ...request,
    turns: request.turns.map((turn) => changeTurn(turn, change)),
    tools: request.tools.map((tool) => changeTool(tool, change)),
    output: changeOutput(request.output, change),
    ...(request.embedding && {
      embedding: {
        ...request.embedding,
        inputs: request.embedding.inputs.map((input) => (typeof input === 'string' ? change('embedding-input', input) : input)),
      },
    }),
  };
}

function changeTurn(turn: Turn, change: Change): Turn {
  switch (turn.role) {
    case 'system':
      return { ...turn, parts: turn.parts.map((part) => ({ ...part, text: change('system', part.text) })) };
    case 'user':
      return { ...turn, parts: turn.parts.map((part) => (part.type === 'text' ? { ...part, text: change('user', part.text) } : part)) };
    case 'assistant':
      return { ...turn, parts: turn.parts.map((part) => changeAssistantPart(part, change)) };
    case 'tool':
      return { ...turn, results: turn.results.map((result) => changeResult(result, change)) };
  }
}

type AssistantPart = Extract<Turn, { role: 'assistant' }>['parts'][number];

function changeAssistantPart(part: AssistantPart, change: Change): AssistantPart {
  if (part.type === 'text') return { ...part, text: change('assistant', part.text) };
  if (part.type === 'reasoning') return { ...part, text: change('reasoning', part.text) };
  const argumentsText = change('tool-call', part.argumentsText);
  if (part.kind === 'function' && argumentsText !== part.argumentsText && isJson(part.argumentsText)) parseChanged(argumentsText);
  return { ...part, argumentsText };
}

function changeResult(result: ToolResult, change: Change): ToolResult {
  return {
    ...result,
    parts: result.parts.map((part) => (part.type === 'text' ? { ...part, text: change('tool-result', part.text) } : part)),
  };
}

function changeTool(tool: Tool, change: Change): Tool {
  const { description, parameters, grammar } = tool;
  return {
    ...tool,
    ...(description !== undefined && { description: change('tool-definition', description) }),
    ...(parameters !== undefined && { parameters: changeObject('tool-definition', parameters, change) }),
    ...(grammar !== undefined && { grammar: { ...grammar, definition: change('tool-definition', grammar.definition) } }),
  };
}

function changeOutput(output: OutputFormat, change: Change): OutputFormat {
  if (output.kind !== 'json-schema') return output;
  const { description, schema } = output;
  return {
    ...output,
    ...(description !== undefined && { description: change('output-schema', description) }),
    schema: changeObject('output-schema', schema, change),
  };
}

function changeObject(kind: PromptTextKind, value: Record<string, unknown>, change: Change): Record<string, unknown> {
  const text = JSON.stringify(value);
  const changed = change(kind, text);
  if (changed === text) return value;
  const parsed = parseChanged(changed);
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed as Record<string, unknown>;
  throw new UnfitSpansError('A span leaves no JSON object.');
}

function parseChanged(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UnfitSpansError('A span leaves no JSON.');
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
