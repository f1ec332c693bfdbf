import type { Usage } from '../money/terms.ts';
import { type Json, parseJson, readEvents, writeEvent } from './events.ts';
import {
  type Ask,
  countTokens,
  type Finish,
  type Format,
  type Heard,
  nothingHeard,
  type Received,
  type Reply,
  type StreamPiece,
} from './format.ts';

const WORDS: Record<Finish, string> = { stop: 'stop', length: 'length', tools: 'tool_calls', filter: 'content_filter' };
const SHELL = { id: 'chatcmpl-kit', created: 1_700_000_000, model: 'scripted' };

/** OpenAI Chat Completions. */
export const chat: Format = {
  name: 'chat',
  path: '/v1/chat/completions',
  headers: (key) => ({ authorization: `Bearer ${key}` }),
  ask: ({ model, turns, stream, outputTokensMax, tools }: Ask) => ({
    model,
    messages: turns.map(writeTurn),
    stream,
    max_tokens: outputTokensMax,
    ...(stream && { stream_options: { include_usage: true } }),
    ...(tools && { tools: tools.map((tool) => ({ type: 'function', function: tool })) }),
  }),
  readReply,
  readStream,
  readAsk,
  writeStream,
  writeReply,
  writeError: (code, message) => JSON.stringify({ error: { message, type: code, param: null, code } }),
};

function writeTurn(turn: Ask['turns'][number]): object {
  if (turn.role === 'result') return { role: 'tool', tool_call_id: turn.id, content: turn.text };
  if (turn.role !== 'call') return { role: turn.role, content: turn.text };
  const { id, name } = turn;
  return { role: 'assistant', content: null, tool_calls: [{ id, type: 'function', function: { name, arguments: turn.arguments } }] };
}

function readAsk(body: Json): Received {
  const turns = (body.messages ?? []).flatMap((message: Json) => {
    if (message.role === 'tool') return [{ role: 'result', id: message.tool_call_id, text: plainText(message.content) }];
    const calls = (message.tool_calls ?? []).map((call: Json) => ({
      role: 'call',
      id: call.id,
      name: call.function?.name,
      arguments: call.function?.arguments,
    }));
    const text = plainText(message.content);
    return [...(text === '' ? [] : [{ role: message.role === 'developer' ? 'system' : message.role, text }]), ...calls];
  });
  return {
    model: body.model,
    turns,
    tools: (body.tools ?? []).map(({ function: { name, description, parameters } }: Json) => ({ name, description, parameters })),
    outputTokensMax: body.max_tokens ?? body.max_completion_tokens ?? null,
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
  if (status !== 200 || reply?.error) return readError(heard, reply);
  const choice = reply?.choices?.[0];
  if (!choice?.message) return { ...heard, faults: ['the reply has no message'] };
  heard.text = choice.message.content ?? '';
  heard.reasoning = choice.message.reasoning_content ?? '';
  heard.calls = (choice.message.tool_calls ?? []).map((call: Json) => ({
    id: call.id,
    name: call.function.name,
    arguments: call.function.arguments,
  }));
  heard.finish = readFinish(choice.finish_reason);
  heard.usage = readUsage(reply.usage);
  heard.end = 'complete';
  return heard;
}

function readStream(body: string, isBroken: boolean): Heard {
  const heard = nothingHeard(200);
  for (const { data } of readEvents(body)) {
    if (data === '[DONE]') {
      heard.end = 'complete';
      continue;
    }
    const chunk = parseJson(data);
    if (chunk === undefined) heard.faults.push('an event is no JSON');
    else if (chunk.error) readError(heard, chunk);
    else readChunk(heard, chunk);
  }
  if (isBroken && heard.end === 'complete') heard.end = 'open';
  return heard;
}

function readChunk(heard: Heard, chunk: Json): void {
  if (chunk.usage) heard.usage = readUsage(chunk.usage);
  const choice = chunk.choices?.[0];
  if (!choice) return;
  const { delta = {} } = choice;
  heard.text += delta.content ?? '';
  heard.reasoning += delta.reasoning_content ?? '';
  for (const piece of delta.tool_calls ?? []) readCallPiece(heard, piece);
  if (choice.finish_reason) heard.finish = readFinish(choice.finish_reason);
}

function readCallPiece(heard: Heard, { index = 0, id, function: { name, arguments: piece } = {} as Json }: Json): void {
  const call = heard.calls[index] ?? { id: '', name: '', arguments: '' };
  heard.calls[index] = call;
  if (id && call.id && call.id !== id) heard.faults.push(`call ${index} has two ids`);
  call.id ||= id ?? '';
  call.name ||= name ?? '';
  call.arguments += piece ?? '';
}

function readError(heard: Heard, reply: Json): Heard {
  heard.end = 'failed';
  const error = reply?.error;
  heard.error = { code: String(error?.code ?? error?.type ?? ''), message: String(error?.message ?? '') };
  if (!error?.message) heard.faults.push('the error has no error.message');
  return heard;
}

function readFinish(word: Json): Finish | null {
  return (Object.keys(WORDS) as Finish[]).find((finish) => WORDS[finish] === word) ?? null;
}

function readUsage(usage: Json): Usage | null {
  if (!usage) return null;
  return {
    prompt: usage.prompt_tokens,
    cached: usage.prompt_tokens_details?.cached_tokens ?? 0,
    output: usage.completion_tokens,
    reasoning: usage.completion_tokens_details?.reasoning_tokens ?? 0,
  };
}

function writeUsage({ prompt, cached, output, reasoning }: Usage): object {
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

function writeStream({ parts, finish, usage }: Reply): StreamPiece[] {
  const chunk = (delta: object, finishReason: string | null = null): string =>
    writeEvent({ ...SHELL, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finishReason }] });
  const pieces: StreamPiece[] = [{ bytes: chunk({ role: 'assistant', content: '' }), tokens: 0, label: 'opening' }];
  let calls = 0;
  for (const part of parts) {
    if (part.kind === 'call') {
      const index = calls++;
      const call = { index, id: part.id, type: 'function', function: { name: part.name, arguments: '' } };
      pieces.push({ bytes: chunk({ tool_calls: [call] }), tokens: countTokens(part.name), label: 'content' });
      for (const piece of part.pieces)
        pieces.push({
          bytes: chunk({ tool_calls: [{ index, function: { arguments: piece } }] }),
          tokens: countTokens(piece),
          label: 'content',
        });
    } else {
      const field = part.kind === 'text' ? 'content' : 'reasoning_content';
      for (const piece of part.pieces) pieces.push({ bytes: chunk({ [field]: piece }), tokens: countTokens(piece), label: 'content' });
    }
  }
  pieces.push({ bytes: chunk({}, WORDS[finish]), tokens: 0, label: 'finish', completes: usage === null });
  if (usage)
    pieces.push({
      bytes: writeEvent({ ...SHELL, object: 'chat.completion.chunk', choices: [], usage: writeUsage(usage) }),
      tokens: 0,
      label: 'usage',
      completes: true,
    });
  pieces.push({ bytes: writeEvent('[DONE]'), tokens: 0, label: 'end' });
  return pieces;
}

function writeReply({ parts, finish, usage }: Reply): string {
  const join = (kind: string): string => parts.flatMap((part) => (part.kind === kind ? part.pieces : [])).join('');
  const calls = parts.flatMap((part) =>
    part.kind === 'call' ? [{ id: part.id, type: 'function', function: { name: part.name, arguments: part.pieces.join('') } }] : [],
  );
  const reasoning = join('reasoning');
  const message = {
    role: 'assistant',
    content: join('text') || null,
    ...(reasoning && { reasoning_content: reasoning }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  return JSON.stringify({
    ...SHELL,
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason: WORDS[finish] }],
    ...(usage && { usage: writeUsage(usage) }),
  });
}
