import { isDeepStrictEqual } from 'node:util';
import type { SseFrame, StreamedReply } from '../../../test/conformance/conformance.js';

type Fields = Record<string, unknown>;

interface Item extends Fields {
  id: string;
  type: string;
  status: string;
}

/** Events and fields of the text of each kind of item; `index` and `part` exist only for items with parts. */
const TEXTS: Record<string, { delta: string; done: string; field: string; index?: string; part?: string }> = {
  reasoning: {
    delta: 'response.reasoning_summary_text.delta',
    done: 'response.reasoning_summary_text.done',
    field: 'text',
    index: 'summary_index',
    part: 'response.reasoning_summary_part',
  },
  message: {
    delta: 'response.output_text.delta',
    done: 'response.output_text.done',
    field: 'text',
    index: 'content_index',
    part: 'response.content_part',
  },
  refusal: {
    delta: 'response.refusal.delta',
    done: 'response.refusal.done',
    field: 'refusal',
    index: 'content_index',
    part: 'response.content_part',
  },
  function_call: { delta: 'response.function_call_arguments.delta', done: 'response.function_call_arguments.done', field: 'arguments' },
  custom_tool_call: { delta: 'response.custom_tool_call_input.delta', done: 'response.custom_tool_call_input.done', field: 'input' },
};

/**
 * A strict client of the format. It builds each item from its deltas alone, throws when the stream breaks a rule of the format, and
 * checks that the last event repeats exactly the built items.
 */
export function readStream(frames: readonly SseFrame[]): StreamedReply {
  const events = frames.map(readEvent);
  const [created, inProgress, ...rest] = events.filter(({ type }) => type !== 'keepalive');
  demand(events[0] === created && created?.type === 'response.created', 'response.created is first [responses-event-created, R-2]');
  demand(inProgress?.type === 'response.in_progress', 'response.in_progress follows [responses-event-created, R-8c]');
  const opening = readResponse(created);
  demand(
    opening.status === 'in_progress' && opening.usage === null && isDeepStrictEqual(opening.output, []),
    'it opens empty [responses-event-created, R-2]',
  );
  demand(isDeepStrictEqual(readResponse(inProgress), opening), 'both are the same Response [R-4]');
  const last = rest.pop();
  const output = readItems(rest);
  const final = readResponse(last);
  demand(last?.type === `response.${String(final.status)}`, 'the last event names the state [responses-event-end]');
  demand(isDeepStrictEqual(final.output, output), 'the last event repeats the items [responses-completed, R-8f]');
  const { status, output: _output, usage, error, incomplete_details, completed_at, ...constant } = final;
  const { status: _s, output: _o, usage: _u, error: _e, incomplete_details: _i, completed_at: began, ...opened } = opening;
  demand(isDeepStrictEqual(constant, opened), 'nothing else of the Response changes [R-3, R-4]');
  demand(began === null && (completed_at !== null) === (status === 'completed'), 'completed_at is set only when completed [R-3]');
  if (status === 'failed') return { error };
  demand(status === 'completed' || status === 'incomplete', 'the stream ends with a final state');
  demand(usage !== null && error === null && (incomplete_details === null) === (status === 'completed'), 'the end is consistent');
  return { reply: final };
}

function readEvent(frame: SseFrame, index: number): Fields {
  const event = JSON.parse(frame.data) as Fields;
  demand(frame.event === event.type, 'the event is named as its type [responses-event-sequence, H-7]');
  demand(event.sequence_number === index, 'sequence numbers count from 0 [responses-event-sequence]');
  return event;
}

function readResponse(event: Fields | undefined): Fields {
  demand(Object.keys(event ?? {}).join() === 'type,sequence_number,response', 'the event carries a Response');
  return (event as { response: Fields }).response;
}

/** Reads the items. Each must be added, filled and done before the next one. */
function readItems(events: Fields[]): Item[] {
  const items: Item[] = [];
  while (events.length > 0) {
    const length = events.findIndex(({ type }) => type === 'response.output_item.done') + 1;
    demand(length > 0, 'every item is done [responses-event-items, R-8d, T-35]');
    items.push(readItem(events.splice(0, length), items.length));
  }
  const callIds = items.flatMap(({ call_id }) => (call_id === undefined ? [] : [call_id]));
  demand(new Set(items.map(({ id }) => id)).size === items.length, 'item ids are unique [R-5, T-34]');
  demand(new Set(callIds).size === callIds.length, 'call ids are unique [R-6]');
  return items;
}

function readItem(events: Fields[], outputIndex: number): Item {
  const [added, ...body] = events;
  const done = body.pop();
  demand(added?.type === 'response.output_item.added', 'an item begins by being added [R-8c]');
  const item = added?.item as Item;
  demand(added?.output_index === outputIndex && done?.output_index === outputIndex, 'items are numbered without gaps [R-8]');
  demand(
    item.id !== '' && item.id !== item.call_id && item.status === 'in_progress',
    'an added item has an id and is in progress [R-5, R-7]',
  );
  const finished = done?.item as Item;
  const kind = item.type === 'message' && (body[0]?.part as Fields | undefined)?.type === 'refusal' ? 'refusal' : item.type;
  const built = withText(item, kind, readText(body, item.id, kind, outputIndex));
  demand(
    isDeepStrictEqual({ ...finished, status: 'in_progress' }, built),
    'the done item is the added one and its deltas [responses-event-items, R-6, T-34]',
  );
  demand(finished.status === 'completed' || finished.status === 'incomplete', 'a done item has its final status [R-7]');
  return finished;
}

/** Returns the joined deltas, and checks that the surrounding events repeat them. */
function readText(body: Fields[], id: string, kind: string, outputIndex: number): string {
  const { delta, done, field, index, part } = TEXTS[kind] ?? TEXTS.message ?? ({} as never);
  const place = { item_id: id, output_index: outputIndex, ...(index !== undefined && { [index]: 0 }) };
  if (part !== undefined) expectEvent(body.shift(), { type: `${part}.added`, ...place, part: makePart(kind, '') });
  let text = '';
  while (body[0]?.type === delta) {
    const event = body.shift();
    demand(typeof event?.delta === 'string' && event.delta !== '', 'a delta is not empty [responses-event-delta-fields]');
    expectEvent(event, { type: delta, ...place, delta: event?.delta, ...(kind === 'message' && { logprobs: [] }) });
    text += event?.delta;
  }
  const name = kind === 'function_call' && { name: body[0]?.name };
  expectEvent(body.shift(), { type: done, ...place, ...name, [field]: text, ...(kind === 'message' && { logprobs: [] }) });
  if (part !== undefined) expectEvent(body.shift(), { type: `${part}.done`, ...place, part: makePart(kind, text) });
  demand(body.length === 0, 'nothing else belongs to an item [R-8b, T-37]');
  return text;
}

function withText(item: Item, kind: string, text: string): Item {
  switch (kind) {
    case 'reasoning':
      demand(
        isDeepStrictEqual(item.summary, []) && item.encrypted_content === null,
        'reasoning begins empty [responses-reasoning-item, R-7]',
      );
      return { ...item, summary: [makePart('reasoning', text)] };
    case 'message':
    case 'refusal':
      demand(item.role === 'assistant' && isDeepStrictEqual(item.content, []), 'a message begins empty');
      return { ...item, content: [makePart(kind, text)] };
    case 'function_call':
      demand(item.arguments === '', 'a call begins without arguments [responses-event-arguments, R-7]');
      return { ...item, arguments: text };
    case 'custom_tool_call':
      demand(item.input === '', 'a custom call begins without input [R-7]');
      return { ...item, input: text };
    default:
      throw new Error(`Broken rule: there is no item of type ${item.type}.`);
  }
}

function makePart(kind: string, text: string): Fields {
  switch (kind) {
    case 'reasoning':
      return { type: 'summary_text', text };
    case 'refusal':
      return { type: 'refusal', refusal: text };
    default:
      return { type: 'output_text', text, annotations: [], logprobs: [] };
  }
}

function expectEvent(event: Fields | undefined, expected: Fields): void {
  const { sequence_number: _, ...fields } = event ?? {};
  demand(isDeepStrictEqual(fields, expected), `the event is ${JSON.stringify(expected)} [R-8b, T-37]`);
}

function demand(holds: boolean, rule: string): void {
  if (!holds) throw new Error(`Broken rule: ${rule}.`);
}
