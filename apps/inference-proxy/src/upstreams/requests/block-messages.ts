import { NO_REASONING } from '#inference/added-texts.js';
import type { AssistantTurn, ImagePart, TextPart, ToolCallPart, ToolResult, Turn } from '#inference/turn.js';
import { NO_MESSAGE } from './arrange-turns.js';
import { ToolCallInputs } from './tool-call-inputs.js';

/** A block of content, or a tool. */
export type Block = Record<string, unknown>;

export interface Message {
  role: 'user' | 'assistant';
  content: Block[];
}

/** The blocks of a dialect whose messages are lists of blocks. A text stands in the field `text` of its block. */
export interface BlockRenderer {
  text(text: string): Block;
  image(image: ImagePart): Block;
  /** Without a signature. */
  reasoning(text: string): Block;
  call(call: ToolCallPart, input: object): Block;
  result(result: ToolResult, content: Block[]): Block;
}

/** A message with its results, which stand before its other content. */
interface OpenMessage extends Message {
  results: Block[];
  hasReasoning: boolean;
}

/**
 * Renders alternating roles, the user first, and tool results before the other content of their message. Texts of only white space, which
 * such dialects refuse, are omitted. `reasoningEcho`: the upstream requires earlier reasoning in each message of the model, before the call
 * that it led to. Others accept only blocks that they have signed.
 */
export function renderMessages(turns: readonly Turn[], render: BlockRenderer, reasoningEcho: boolean): Message[] {
  const messages: OpenMessage[] = [];
  const inputs = new ToolCallInputs();
  for (const turn of turns) {
    // Later system turns become user messages: the dialects have no other place for them.
    const role = turn.role === 'assistant' ? 'assistant' : 'user';
    const [results, content] = turn.role === 'tool' ? [renderResults(turn.results, render), []] : [[], renderTurn(turn, render, inputs)];
    const reasoning = reasoningEcho && turn.role === 'assistant' ? findReasoning(turn) : [];
    if (results.length + content.length + reasoning.length === 0) continue;
    let last = messages.at(-1);
    if (last?.role !== role) {
      last = { role, results: [], content: [], hasReasoning: false };
      messages.push(last);
    }
    for (const result of results) last.results.push(result);
    for (const text of reasoning) last.content.push(render.reasoning(text));
    for (const block of content) last.content.push(block);
    last.hasReasoning ||= reasoning.length > 0;
  }
  const rendered = messages.map(({ role, results, content, hasReasoning }): Message => {
    const missing = reasoningEcho && role === 'assistant' && !hasReasoning ? [render.reasoning(NO_REASONING)] : [];
    return { role, content: [...missing, ...results, ...content] };
  });
  if (rendered[0]?.role !== 'user') rendered.unshift({ role: 'user', content: [render.text(NO_MESSAGE)] });
  const final = rendered.at(-1);
  const end = final?.content.at(-1);
  if (final?.role === 'assistant' && typeof end?.text === 'string') end.text = end.text.trimEnd(); // refused otherwise
  return rendered;
}

function findReasoning({ parts }: AssistantTurn): string[] {
  return parts.flatMap((part) => (part.type === 'reasoning' && part.text !== '' ? [part.text] : []));
}

function renderTurn(turn: Exclude<Turn, { role: 'tool' }>, render: BlockRenderer, inputs: ToolCallInputs): Block[] {
  if (turn.role !== 'assistant') return renderParts(turn.parts, render);
  return turn.parts.flatMap((part): Block[] => {
    if (part.type === 'reasoning') return [];
    return part.type === 'text' ? renderParts([part], render) : [render.call(part, inputs.render(part))];
  });
}

function renderResults(results: readonly ToolResult[], render: BlockRenderer): Block[] {
  return results.map((result) => render.result(result, renderParts(result.parts, render)));
}

function renderParts(parts: readonly (TextPart | ImagePart)[], render: BlockRenderer): Block[] {
  return parts
    .filter((part) => part.type === 'image' || part.text.trim() !== '')
    .map((part) => (part.type === 'text' ? render.text(part.text) : render.image(part)));
}
