import type { ChatRequest } from '../dialects/chat/parse-request.js';
import { withoutDirectives } from '../directives.js';
import { schemaValue } from './schema-value.js';
import { seedOf } from './seeded-words.js';

/** Where the search for the end of an object gives up. */
const ARGUMENTS_LENGTH_MAX = 65_536;

export interface PlannedCall {
  id: string;
  name: string;
  /** JSON text. */
  arguments: string;
}

/**
 * The tool calls a request leads to. `tool_choice` decides when it forces one; otherwise a user's words `call <tool>` or
 * `call <tool> {json}` do, once for every tool named that is on offer, unless results of that call are already there.
 */
export function requestedCalls(request: ChatRequest, lastUserText: string): PlannedCall[] {
  const tools = new Map((request.tools ?? []).map(({ function: tool }) => [tool.name, tool]));
  const choice = request.tool_choice ?? 'auto';
  if (tools.size === 0 || choice === 'none') return [];
  const spoken = spokenCalls(withoutDirectives(lastUserText)).filter(({ name }) => tools.has(name));
  const names = chosen(choice, spoken, request, [...tools.keys()]);
  const calls = names.map(({ name, json }, index) => ({
    id: callId(request, name, index),
    name,
    arguments: json ?? JSON.stringify(schemaValue(tools.get(name)?.parameters ?? {})),
  }));
  return request.parallel_tool_calls === false ? calls.slice(0, 1) : calls;
}

interface SpokenCall {
  name: string;
  json?: string;
}

function chosen(
  choice: NonNullable<ChatRequest['tool_choice']>,
  spoken: SpokenCall[],
  request: ChatRequest,
  offered: string[],
): SpokenCall[] {
  if (typeof choice === 'object') {
    const { name } = choice.function;
    return [spoken.find((call) => call.name === name) ?? { name }];
  }
  if (choice === 'required') return spoken.length > 0 ? spoken : offered.slice(0, 1).map((name) => ({ name }));
  return isUsersTurn(request) ? spoken : [];
}

/** System messages may stand behind the user's words: Claude Code tells the model about its surroundings there. */
function isUsersTurn(request: ChatRequest): boolean {
  return request.messages.findLast(({ role }) => role !== 'system' && role !== 'developer')?.role === 'user';
}

/** Unique in a conversation: the position of the turn is part of it. */
function callId(request: ChatRequest, name: string, index: number): string {
  return `call_${request.messages.length}_${index}_${seedOf(name).toString(36)}`;
}

function spokenCalls(text: string): SpokenCall[] {
  return [...text.matchAll(/\bcall\s+([A-Za-z0-9_-]{1,64})/gi)].map((match) => {
    const name = match[1] ?? '';
    const after = text.slice(match.index + match[0].length).trimStart();
    const json = after.startsWith('{') ? leadingObject(after) : undefined;
    return json === undefined ? { name } : { name, json };
  });
}

/** The JSON object a text begins with, as written; undefined when it is none. */
function leadingObject(text: string): string | undefined {
  for (let end = text.indexOf('}'); end !== -1 && end < ARGUMENTS_LENGTH_MAX; end = text.indexOf('}', end + 1)) {
    const candidate = text.slice(0, end + 1);
    try {
      JSON.parse(candidate);
      return candidate;
    } catch {
      // The object goes on behind this brace.
    }
  }
  return undefined;
}
