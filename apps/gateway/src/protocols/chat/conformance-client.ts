import type { SseFrame, StreamedReply } from '../../../test/conformance/conformance.js';

interface Chunk {
  id: string;
  object: string;
  created: number;
  model: string;
  choices: { index: number; delta: Delta; finish_reason: string | null }[];
  usage?: unknown;
}

interface Delta {
  role?: string;
  content?: string | null;
  refusal?: string;
  reasoning_content?: string;
  tool_calls?: CallPiece[];
}

interface CallPiece {
  index: number;
  id?: string;
  type?: string;
  function?: { name?: string; arguments: string };
  custom?: { name?: string; input: string };
}

type Call = { id: string; type: string } & (
  | { function: { name: string; arguments: string } }
  | { custom: { name: string; input: string } }
);

interface Message {
  role: string;
  content: string | null;
  refusal: string | null;
  reasoning_content?: string;
  tool_calls?: Call[];
}

/**
 * A strict client of the format, for tests. It joins the deltas of a stream with `include_usage`, and throws when the stream breaks a rule.
 * The ids in brackets are rules of `docs/rules.yaml`.
 */
export function readStream(frames: readonly SseFrame[]): StreamedReply {
  const last = parse(frames.at(-1));
  if (last !== '[DONE]' && last !== undefined && 'error' in last) {
    // Before an error there are only valid chunks.
    frames.slice(0, -1).forEach((frame) => void asChunk(parse(frame)));
    return { error: last.error };
  }
  demand(last === '[DONE]', 'the stream ends with [DONE] [chat-stream, chat-event-done, T-27]');
  const chunks = frames.slice(0, -1).map((frame) => asChunk(parse(frame)));
  return { reply: joinChunks(chunks) };
}

function parse(frame: SseFrame | undefined): '[DONE]' | Record<string, unknown> | undefined {
  demand(frame?.event === undefined, 'chunks have no `event:` line [H-8]');
  return frame === undefined || frame.data === '[DONE]' ? (frame?.data as '[DONE]' | undefined) : JSON.parse(frame.data);
}

function asChunk(parsed: ReturnType<typeof parse>): Chunk {
  demand(parsed !== undefined && parsed !== '[DONE]' && !('error' in parsed), 'an error or [DONE] comes last [C-31, T-28]');
  const chunk = parsed as unknown as Chunk;
  demand(
    chunk.object === 'chat.completion.chunk' && Array.isArray(chunk.choices),
    'every chunk has its object and choices [chat-chunk, T-28]',
  );
  return chunk;
}

function joinChunks(chunks: Chunk[]): unknown {
  const usageChunk = chunks.at(-1);
  const [first] = chunks;
  demand(
    first !== undefined && usageChunk?.usage !== undefined && usageChunk.choices.length === 0,
    'usage comes last [chat-chunk-usage, chat-stream-options, T-27]',
  );
  const { id, created, model } = first as Chunk;
  // The first chunk replaces the role.
  const message: Message = { role: 'none', content: null, refusal: null };
  let finishReason: string | null = null;
  for (const chunk of chunks)
    demand(
      chunk.id === id && chunk.created === created && chunk.model === model,
      'all chunks have the same id, created and model [chat-chunk, C-30]',
    );
  for (const chunk of chunks.slice(0, -1)) {
    const [choice] = chunk.choices;
    demand(chunk.usage === undefined && choice?.index === 0 && chunk.choices.length === 1, 'each chunk has one choice and no usage [C-32]');
    demand(finishReason === null, 'nothing but usage follows the finish [chat-role-first]');
    const { delta, finish_reason } = choice as Chunk['choices'][number];
    demand((delta.role !== undefined) === (chunk === first), 'the role comes first and once [chat-role-first]');
    demand(finish_reason === null || Object.keys(delta).length === 0, 'the finish has an empty delta');
    addDelta(message, delta);
    finishReason = finish_reason;
  }
  demand(finishReason !== null, 'there is a finish');
  const choices = [{ index: 0, message, logprobs: null, finish_reason: finishReason }];
  return { id, object: 'chat.completion', created, model, system_fingerprint: null, choices, usage: usageChunk?.usage };
}

function addDelta(message: Message, delta: Delta): void {
  if (delta.role !== undefined) message.role = delta.role;
  if (typeof delta.content === 'string') message.content = (message.content ?? '') + delta.content;
  if (delta.refusal !== undefined) message.refusal = (message.refusal ?? '') + delta.refusal;
  if (delta.reasoning_content !== undefined) message.reasoning_content = (message.reasoning_content ?? '') + delta.reasoning_content;
  for (const piece of delta.tool_calls ?? []) addCallPiece(message, piece);
}

function addCallPiece(message: Message, piece: CallPiece): void {
  message.tool_calls ??= [];
  const call = message.tool_calls[piece.index];
  if (call === undefined) {
    const { index, id = '', type = '', function: called, custom } = piece;
    demand(index === message.tool_calls.length, 'indexes are contiguous, in order of appearance');
    const { name, text } =
      type === 'custom' ? { name: custom?.name, text: custom?.input } : { name: called?.name, text: called?.arguments };
    demand(
      id !== '' && Object.keys(piece).join() === `index,id,type,${type}` && name !== undefined && text === '',
      'the first piece of a call has id, type, name and empty arguments [chat-call-pieces, T-17]',
    );
    message.tool_calls.push({ id, type, ...(custom === undefined ? { function: called } : { custom }) } as Call);
  } else {
    const [field, text] = 'custom' in call ? ['custom', 'input'] : ['function', 'arguments'];
    demand(
      Object.keys(piece).join() === `index,${field}` && Object.keys(piece.custom ?? piece.function ?? {}).join() === text,
      'later pieces have only index and arguments [chat-call-pieces, T-16]',
    );
    if ('custom' in call) call.custom.input += piece.custom?.input;
    else call.function.arguments += piece.function?.arguments;
  }
}

function demand(holds: boolean, rule: string): void {
  if (!holds) throw new Error(`Broken rule: ${rule}.`);
}
