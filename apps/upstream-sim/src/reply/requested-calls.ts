import type { ChatRequest } from '../chat-request.js';
import { withoutDirectives } from '../directives.js';
import { schemaValue } from './schema-value.js';
import { hashSeed } from './seeded-text.js';

/** The search for the end of an object stops here. */
const ARGUMENTS_LENGTH_MAX = 65_536;

export interface PlannedCall {
  id: string;
  name: string;
  /** JSON text. */
  arguments: string;
}

/**
 * Returns the tool calls of the reply: those that `tool_choice` forces, else one for each `call <tool>` or `call <tool> {json}` in the
 * last user text that names an offered tool. A request that ends with tool results gets none.
 */
export function requestedCalls(request: ChatRequest, lastUserText: string): PlannedCall[] {
  const tools = new Map((request.tools ?? []).map(({ function: tool }) => [tool.name, tool]));
  const choice = request.tool_choice ?? 'auto';
  if (tools.size === 0 || choice === 'none') return [];
  const named = namedCalls(withoutDirectives(lastUserText)).filter(({ name }) => tools.has(name));
  const names = chosen(choice, named, request, [...tools.keys()]);
  const calls = names.map(({ name, json }, index) => ({
    id: callId(request, name, index),
    name,
    arguments: json ?? JSON.stringify(schemaValue(tools.get(name)?.parameters ?? {})),
  }));
  return request.parallel_tool_calls === false ? calls.slice(0, 1) : calls;
}

interface NamedCall {
  name: string;
  json?: string;
}

function chosen(choice: NonNullable<ChatRequest['tool_choice']>, named: NamedCall[], request: ChatRequest, offered: string[]): NamedCall[] {
  if (typeof choice === 'object') {
    const { name } = choice.function;
    return [named.find((call) => call.name === name) ?? { name }];
  }
  if (choice === 'required') return named.length > 0 ? named : offered.slice(0, 1).map((name) => ({ name }));
  return isUsersTurn(request) ? named : [];
}

/** Ignores system messages behind the user's: Claude Code describes its environment there. */
function isUsersTurn(request: ChatRequest): boolean {
  return request.messages.findLast(({ role }) => role !== 'system' && role !== 'developer')?.role === 'user';
}

/** Unique in a conversation, because the position of the turn is part of it. */
function callId(request: ChatRequest, name: string, index: number): string {
  return `call_${request.messages.length}_${index}_${hashSeed(name).toString(36)}`;
}

function namedCalls(text: string): NamedCall[] {
  return [...text.matchAll(/\bcall\s+([A-Za-z0-9_-]{1,64})/gi)].map((match) => {
    const name = match[1] ?? '';
    const after = text.slice(match.index + match[0].length).trimStart();
    const json = after.startsWith('{') ? leadingObject(after) : undefined;
    return json === undefined ? { name } : { name, json };
  });
}

/** Returns the JSON object at the start of a text as it is written, or undefined. */
function leadingObject(text: string): string | undefined {
  for (let end = text.indexOf('}'); end !== -1 && end < ARGUMENTS_LENGTH_MAX; end = text.indexOf('}', end + 1)) {
    const candidate = text.slice(0, end + 1);
    try {
      JSON.parse(candidate);
      return candidate;
    } catch {
      // The object continues after this brace.
    }
  }
  return undefined;
}
