import type { Usage } from '../money/terms.ts';
import { type Json, parseJson, readEvents, writeEvent } from './events.ts';
import {
  type Ask,
  countTokens,
  type Finish,
  type Format,
  type Heard,
  nothingHeard,
  type Part,
  type Received,
  type Reply,
  type StreamPiece,
} from './format.ts';

const WORDS: Record<Finish, string> = { stop: 'end_turn', length: 'max_tokens', tools: 'tool_use', filter: 'refusal' };
const SHELL = { id: 'msg_kit', type: 'message', role: 'assistant', model: 'scripted' };

/** Anthropic Messages. */
export const messages: Format = {
  name: 'messages',
  path: '/v1/messages',
  headers: (key) => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
  ask: ({ model, turns, stream, outputTokensMax, tools, wantsReasoning }: Ask) => ({
    model,
    system: turns.flatMap((turn) => (turn.role === 'system' ? [turn.text] : [])).join('\n') || undefined,
    messages: turns.filter((turn) => turn.role !== 'system').map(writeTurn),
    stream,
    max_tokens: outputTokensMax,
    ...(tools && { tools: tools.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters })) }),
    ...(wantsReasoning && { thinking: { type: 'enabled', budget_tokens: 1_024 } }),
  }),
  readReply,
  readStream,
  readAsk,
  writeStream,
  writeReply,
  writeError: (code, message) => JSON.stringify({ type: 'error', error: { type: code, message } }),
};

function writeTurn(turn: Ask['turns'][number]): object {
  if (turn.role === 'result') return { role: 'user', content: [{ type: 'tool_result', tool_use_id: turn.id, content: turn.text }] };
  if (turn.role !== 'call') return { role: turn.role, content: turn.text };
  return { role: 'assistant', content: [{ type: 'tool_use', id: turn.id, name: turn.name, input: parseJson(turn.arguments) ?? {} }] };
}

function readAsk(body: Json): Received {
  const system = plainText(body.system);
  const turns = (body.messages ?? []).flatMap(({ role, content }: Json) => {
    if (typeof content === 'string') return [{ role, text: content }];
    return content.flatMap((block: Json) => {
      if (block.type === 'tool_use') return [{ role: 'call', id: block.id, name: block.name, arguments: JSON.stringify(block.input) }];
      if (block.type === 'tool_result') return [{ role: 'result', id: block.tool_use_id, text: plainText(block.content) }];
      return block.type === 'text' ? [{ role, text: block.text }] : [];
    });
  });
  return {
    model: body.model,
    turns: system ? [{ role: 'system', text: system }, ...turns] : turns,
    tools: (body.tools ?? []).map(({ name, description, input_schema: parameters }: Json) => ({ name, description, parameters })),
    outputTokensMax: body.max_tokens ?? null,
    isStream: body.stream === true,
  };
}

function plainText(content: Json): string {
  if (Array.isArray(content)) return content.map((part) => part.text ?? '').join('');
  return content ?? '';
}

function readReply(status: number, body: string): Heard {
  const heard = nothingHeard(status);
  const reply = parseJson(body);
  if (status !== 200 || reply?.type === 'error') return readError(heard, reply);
  if (!Array.isArray(reply?.content)) return { ...heard, faults: ['the message has no content'] };
  for (const block of reply.content as Json[]) {
    if (block.type === 'text') heard.text += block.text;
    else if (block.type === 'thinking') heard.reasoning += block.thinking;
    else if (block.type === 'tool_use') heard.calls.push({ id: block.id, name: block.name, arguments: JSON.stringify(block.input) });
  }
  heard.finish = readFinish(reply.stop_reason);
  heard.usage = readUsage(reply.usage);
  heard.end = 'complete';
  return heard;
}

function readStream(body: string, isBroken: boolean): Heard {
  const heard = nothingHeard(200);
  const reading = { blocks: [] as (Heard['calls'][number] | undefined)[], usage: {} as Json, last: -1 };
  for (const { data } of readEvents(body)) {
    const event = parseJson(data);
    if (event === undefined) heard.faults.push('an event is no JSON');
    else readStreamEvent(heard, event, reading);
  }
  heard.usage = readUsage(Object.keys(reading.usage).length > 0 ? reading.usage : undefined);
  if (isBroken && heard.end === 'complete') heard.end = 'open';
  return heard;
}

function readStreamEvent(
  heard: Heard,
  event: Json,
  reading: { blocks: (Heard['calls'][number] | undefined)[]; usage: Json; last: number },
): void {
  switch (event.type) {
    case 'message_start':
      Object.assign(reading.usage, event.message?.usage);
      break;
    case 'content_block_start': {
      const { index, content_block: block } = event;
      if (index !== reading.last + 1) heard.faults.push(`block ${index} follows block ${reading.last}`);
      reading.last = index;
      if (block?.type !== 'tool_use') break;
      const call = { id: block.id, name: block.name, arguments: '' };
      reading.blocks[index] = call;
      heard.calls.push(call);
      break;
    }
    case 'content_block_delta': {
      const { delta } = event;
      if (delta.type === 'text_delta') heard.text += delta.text;
      else if (delta.type === 'thinking_delta') heard.reasoning += delta.thinking;
      else if (delta.type === 'input_json_delta') {
        const call = reading.blocks[event.index];
        if (call) call.arguments += delta.partial_json;
      }
      break;
    }
    case 'message_delta':
      heard.finish = readFinish(event.delta?.stop_reason);
      Object.assign(reading.usage, event.usage);
      break;
    case 'message_stop':
      heard.end = 'complete';
      break;
    case 'error':
      readError(heard, event);
      break;
    default:
  }
}

function readError(heard: Heard, reply: Json): Heard {
  heard.end = 'failed';
  heard.error = { code: String(reply?.error?.type ?? ''), message: String(reply?.error?.message ?? '') };
  if (!reply?.error?.message) heard.faults.push('the error has no error.message');
  return heard;
}

function readFinish(word: Json): Finish | null {
  return (Object.keys(WORDS) as Finish[]).find((finish) => WORDS[finish] === word) ?? null;
}

function readUsage(usage: Json): Usage | null {
  if (!usage) return null;
  const cached = usage.cache_read_input_tokens ?? 0;
  const written = usage.cache_creation_input_tokens ?? 0;
  return { prompt: (usage.input_tokens ?? 0) + cached + written, cached, output: usage.output_tokens ?? 0, reasoning: 0 };
}

function writeUsage({ prompt, cached, output }: Usage): object {
  return { input_tokens: prompt - cached, cache_read_input_tokens: cached, cache_creation_input_tokens: 0, output_tokens: output };
}

function block(part: Part, whole = part.pieces.join('')): object {
  if (part.kind === 'call') return { type: 'tool_use', id: part.id, name: part.name, input: whole === '' ? {} : parseJson(whole) };
  return part.kind === 'text' ? { type: 'text', text: whole } : { type: 'thinking', thinking: whole, signature: whole === '' ? '' : 'sig' };
}

function writeReply({ parts, finish, usage }: Reply): string {
  const content = parts.map((part) => block(part));
  return JSON.stringify({ ...SHELL, content, stop_reason: WORDS[finish], stop_sequence: null, ...(usage && { usage: writeUsage(usage) }) });
}

function writeStream({ parts, finish, usage }: Reply): StreamPiece[] {
  const event = (type: string, fields: object): string => writeEvent({ type, ...fields }, type);
  const usageAtStart = usage ? { usage: writeUsage({ ...usage, output: 0 }) } : {};
  const message = { ...SHELL, content: [], stop_reason: null, stop_sequence: null, ...usageAtStart };
  const pieces: StreamPiece[] = [{ bytes: event('message_start', { message }), tokens: 0, label: 'opening' }];
  for (const [index, part] of parts.entries()) {
    const start = event('content_block_start', { index, content_block: block(part, '') });
    const named = part.kind === 'call' ? countTokens(part.name) : 0;
    pieces.push({ bytes: start, tokens: named, label: named > 0 ? 'content' : 'opening' });
    for (const piece of part.pieces)
      pieces.push({
        bytes: event('content_block_delta', { index, delta: delta(part, piece) }),
        tokens: countTokens(piece),
        label: 'content',
      });
    pieces.push({ bytes: event('content_block_stop', { index }), tokens: 0, label: 'content' });
  }
  const ended = { delta: { stop_reason: WORDS[finish], stop_sequence: null }, ...(usage && { usage: writeUsage(usage) }) };
  pieces.push({ bytes: event('message_delta', ended), tokens: 0, label: 'finish', completes: true });
  pieces.push({ bytes: event('message_stop', {}), tokens: 0, label: 'end' });
  return pieces;
}

function delta(part: Part, piece: string): object {
  if (part.kind === 'text') return { type: 'text_delta', text: piece };
  return part.kind === 'reasoning' ? { type: 'thinking_delta', thinking: piece } : { type: 'input_json_delta', partial_json: piece };
}
