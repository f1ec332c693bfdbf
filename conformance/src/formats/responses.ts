import type { Usage } from '../money/terms.ts';
import { type Json, parseJson, readEvents, writeEvent } from './events.ts';
import {
  type Ask,
  countTokens,
  type Format,
  type Heard,
  nothingHeard,
  type Part,
  type Received,
  type Reply,
  type StreamPiece,
} from './format.ts';

const SHELL = { id: 'resp_kit', object: 'response', created_at: 1_700_000_000, model: 'scripted', error: null, store: false, metadata: {} };

/** OpenAI Responses. */
export const responses: Format = {
  name: 'responses',
  path: '/v1/responses',
  headers: (key) => ({ authorization: `Bearer ${key}` }),
  ask: ({ model, turns, stream, outputTokensMax, tools }: Ask) => ({
    model,
    input: turns.map(writeTurn),
    stream,
    max_output_tokens: outputTokensMax,
    ...(tools && { tools: tools.map((tool) => ({ type: 'function', ...tool })) }),
  }),
  readReply,
  readStream,
  readAsk,
  writeStream,
  writeReply: (reply) => JSON.stringify(finalResponse(reply)),
  writeError: (code, message) => JSON.stringify({ error: { message, type: code, param: null, code } }),
};

function writeTurn(turn: Ask['turns'][number]): object {
  if (turn.role === 'result') return { type: 'function_call_output', call_id: turn.id, output: turn.text };
  if (turn.role === 'call') return { type: 'function_call', call_id: turn.id, name: turn.name, arguments: turn.arguments };
  return { role: turn.role, content: turn.text };
}

function readAsk(body: Json): Received {
  const items = typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : (body.input ?? []);
  const turns = items.flatMap((item: Json) => {
    if (item.type === 'function_call') return [{ role: 'call', id: item.call_id, name: item.name, arguments: item.arguments }];
    if (item.type === 'function_call_output') return [{ role: 'result', id: item.call_id, text: plainText(item.output) }];
    if (item.type !== undefined && item.type !== 'message') return [];
    return [{ role: item.role === 'developer' ? 'system' : item.role, text: plainText(item.content) }];
  });
  return {
    model: body.model,
    turns: body.instructions ? [{ role: 'system', text: body.instructions }, ...turns] : turns,
    tools: (body.tools ?? []).map(({ name, description, parameters }: Json) => ({ name, description, parameters })),
    outputTokensMax: body.max_output_tokens ?? null,
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
  if (status !== 200 || reply?.error) return readError(heard, reply?.error);
  if (!Array.isArray(reply?.output)) return { ...heard, faults: ['the response has no output'] };
  readResponse(heard, reply);
  heard.end = reply.status === 'failed' ? 'failed' : 'complete';
  return heard;
}

/** Reads a whole response object. Its output replaces what deltas have brought. */
function readResponse(heard: Heard, response: Json): void {
  const output: Json[] = response.output ?? [];
  heard.text = output.flatMap((item) => (item.type === 'message' ? item.content.map((part: Json) => part.text ?? '') : [])).join('');
  heard.reasoning = output
    .flatMap((item) => (item.type === 'reasoning' ? (item.summary ?? []).map((part: Json) => part.text) : []))
    .join('');
  heard.calls = output.flatMap((item) =>
    item.type === 'function_call' ? [{ id: item.call_id, name: item.name, arguments: item.arguments }] : [],
  );
  heard.usage = readUsage(response.usage);
  const reason = response.incomplete_details?.reason;
  if (response.status === 'incomplete')
    heard.finish = reason === 'content_filter' ? 'filter' : reason === 'max_output_tokens' ? 'length' : null;
  else if (response.status === 'completed') heard.finish = heard.calls.length > 0 ? 'tools' : 'stop';
}

function readStream(body: string, isBroken: boolean): Heard {
  const heard = nothingHeard(200);
  let sequence = -1;
  for (const { data } of readEvents(body)) {
    const event = parseJson(data);
    if (event === undefined) {
      if (data !== '[DONE]') heard.faults.push('an event is no JSON');
      continue;
    }
    if (typeof event.sequence_number === 'number') {
      if (event.sequence_number <= sequence) heard.faults.push('sequence_number does not increase');
      sequence = event.sequence_number;
    }
    readStreamEvent(heard, event);
  }
  if (isBroken && heard.end === 'complete') heard.end = 'open';
  return heard;
}

function readStreamEvent(heard: Heard, event: Json): void {
  switch (event.type) {
    case 'response.output_text.delta':
      heard.text += event.delta;
      break;
    case 'response.reasoning_summary_text.delta':
      heard.reasoning += event.delta;
      break;
    case 'response.completed':
    case 'response.incomplete': {
      const { text } = heard;
      readResponse(heard, event.response);
      if (text !== '' && text !== heard.text) heard.faults.push('the deltas of the text are not the text of the response');
      heard.end = 'complete';
      break;
    }
    case 'response.failed':
      readError(heard, event.response?.error);
      break;
    case 'error':
      readError(heard, event.error ?? event);
      break;
    default:
  }
}

function readError(heard: Heard, error: Json): Heard {
  heard.end = 'failed';
  heard.error = { code: String(error?.code ?? error?.type ?? ''), message: String(error?.message ?? '') };
  if (!error?.message) heard.faults.push('the error has no message');
  return heard;
}

function readUsage(usage: Json): Usage | null {
  if (!usage) return null;
  return {
    prompt: usage.input_tokens,
    cached: usage.input_tokens_details?.cached_tokens ?? 0,
    output: usage.output_tokens,
    reasoning: usage.output_tokens_details?.reasoning_tokens ?? 0,
  };
}

function writeUsage({ prompt, cached, output, reasoning }: Usage): object {
  return {
    input_tokens: prompt,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: prompt + output,
  };
}

function outputItem(part: Part, index: number, text = part.pieces.join(''), status = 'completed'): object {
  if (part.kind === 'call') return { id: `fc_${index}`, type: 'function_call', status, call_id: part.id, name: part.name, arguments: text };
  if (part.kind === 'reasoning')
    return { id: `rs_${index}`, type: 'reasoning', summary: text === '' ? [] : [{ type: 'summary_text', text }] };
  const content = text === '' ? [] : [{ type: 'output_text', text, annotations: [], logprobs: [] }];
  return { id: `msg_${index}`, type: 'message', status, role: 'assistant', content };
}

function finalResponse({ parts, finish, usage }: Reply): object {
  const isCut = finish === 'length' || finish === 'filter';
  return {
    ...SHELL,
    status: isCut ? 'incomplete' : 'completed',
    incomplete_details: isCut ? { reason: finish === 'length' ? 'max_output_tokens' : 'content_filter' } : null,
    output: parts.map((part, index) => outputItem(part, index)),
    ...(usage && { usage: writeUsage(usage) }),
  };
}

function writeStream(reply: Reply): StreamPiece[] {
  let sequence = 0;
  const event = (type: string, fields: object): string => writeEvent({ type, sequence_number: sequence++, ...fields }, type);
  const begun = { ...SHELL, status: 'in_progress', incomplete_details: null, output: [], usage: null };
  const pieces: StreamPiece[] = [{ bytes: event('response.created', { response: begun }), tokens: 0, label: 'opening' }];
  for (const [index, part] of reply.parts.entries()) pieces.push(...partPieces(event, part, index));
  const isCut = reply.finish === 'length' || reply.finish === 'filter';
  const type = isCut ? 'response.incomplete' : 'response.completed';
  pieces.push({ bytes: event(type, { response: finalResponse(reply) }), tokens: 0, label: 'finish', completes: true });
  return pieces;
}

function partPieces(event: (type: string, fields: object) => string, part: Part, index: number): StreamPiece[] {
  const place = { item_id: (outputItem(part, index) as { id: string }).id, output_index: index };
  const whole = part.pieces.join('');
  const added = event('response.output_item.added', { output_index: index, item: outputItem(part, index, '', 'in_progress') });
  const named = part.kind === 'call' ? countTokens(part.name) : 0;
  const opening: StreamPiece = { bytes: added, tokens: named, label: named > 0 ? 'content' : 'opening' };
  const [kind, framing] = {
    text: ['response.output_text', { ...place, content_index: 0 }],
    reasoning: ['response.reasoning_summary_text', { ...place, summary_index: 0 }],
    call: ['response.function_call_arguments', place],
  }[part.kind] as [string, object];
  if (part.kind === 'text')
    opening.bytes += event('response.content_part.added', { ...framing, part: { type: 'output_text', text: '', annotations: [] } });
  if (part.kind === 'reasoning')
    opening.bytes += event('response.reasoning_summary_part.added', { ...framing, part: { type: 'summary_text', text: '' } });
  const deltas = part.pieces.map(
    (piece): StreamPiece => ({ bytes: event(`${kind}.delta`, { ...framing, delta: piece }), tokens: countTokens(piece), label: 'content' }),
  );
  const done = event(`${kind}.done`, { ...framing, ...(part.kind === 'call' ? { arguments: whole } : { text: whole }) });
  const parted =
    part.kind === 'text'
      ? event('response.content_part.done', { ...framing, part: { type: 'output_text', text: whole, annotations: [] } })
      : '';
  const ended = event('response.output_item.done', { output_index: index, item: outputItem(part, index) });
  return [opening, ...deltas, { bytes: done + parted + ended, tokens: 0, label: 'content' }];
}
