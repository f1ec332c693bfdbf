import { type Bench, textReply } from '../bench.ts';
import { writeEvent } from '../formats/events.ts';
import { FORMAT_NAMES, type FormatName, type HeardCall, type Part, type Reply, type StreamPiece } from '../formats/format.ts';
import { MODEL_BY_FORMAT, type Model } from '../models.ts';
import type { Usage } from '../money/terms.ts';
import type { Call } from '../upstream/call.ts';
import type { Outcome, Row } from './row.ts';

/** A way in which real servers write a good reply that is not quite that of the format. The client must hear the reply. */
interface Oddity {
  name: string;
  title: string;
  upstream: FormatName;
  reply: Reply;
  truth: Usage;
  change?(pieces: StreamPiece[]): StreamPiece[];
  /** Size of the writes; each piece in a write of its own by default. */
  send?: 'byte by byte' | 'in one write' | 'left open';
}

const { reply: TEXT, truth: TRUTH } = textReply(4);
const WIDE: Reply = { ...TEXT, parts: [{ kind: 'text', pieces: ['Grüße 🌍', ' \u2028 日本', 'e\u0301'] }] };
const CALL: Part = { kind: 'call', id: 'call_a1', name: 'look_up', pieces: ['{"city":', '"Rome"}'] };
const CALLS: Reply = { parts: [CALL], finish: 'tools', usage: TRUTH };
const OPEN_MS = 10_000;

/** Changes the JSON of each event. */
const editJson =
  // biome-ignore lint/suspicious/noExplicitAny: events of all formats
    (edit: (event: any) => void) =>
    (pieces: StreamPiece[]): StreamPiece[] =>
      pieces.map((piece) => ({
        ...piece,
        bytes: piece.bytes.replaceAll(/^data: (\{.*)$/gm, (_, json: string) => `data: ${rewrite(json, edit)}`),
      }));

// biome-ignore lint/suspicious/noExplicitAny: events of all formats
function rewrite(json: string, edit: (event: any) => void): string {
  const event = JSON.parse(json);
  edit(event);
  return JSON.stringify(event);
}

const insertFirst =
  (bytes: string) =>
  (pieces: StreamPiece[]): StreamPiece[] => [{ bytes, tokens: 0, label: 'opening' }, ...pieces];
const between =
  (bytes: string) =>
  (pieces: StreamPiece[]): StreamPiece[] =>
    pieces.map((piece, index) => (index === 0 ? piece : { ...piece, bytes: bytes + piece.bytes }));
const editBytes =
  (edit: (bytes: string) => string) =>
  (pieces: StreamPiece[]): StreamPiece[] =>
    pieces.map((piece) => ({ ...piece, bytes: edit(piece.bytes) }));

const chat = { upstream: 'chat', reply: TEXT, truth: TRUTH } as const;
const chatCalls = { upstream: 'chat', reply: CALLS, truth: TRUTH } as const;

const ODDITIES: readonly Oddity[] = [
  ...FORMAT_NAMES.flatMap((upstream): Oddity[] => [
    {
      name: `${upstream}-byte-by-byte`,
      title: 'every byte in a packet of its own',
      upstream,
      reply: WIDE,
      truth: TRUTH,
      send: 'byte by byte',
    },
    {
      name: `${upstream}-in-one-write`,
      title: 'the whole stream in one packet',
      upstream,
      reply: WIDE,
      truth: TRUTH,
      send: 'in one write',
    },
    {
      name: `${upstream}-crlf`,
      title: 'lines that end with CR and LF',
      upstream,
      reply: TEXT,
      truth: TRUTH,
      change: editBytes((bytes) => bytes.replaceAll('\n', '\r\n')),
    },
    {
      name: `${upstream}-comments`,
      title: 'comments between the events',
      upstream,
      reply: TEXT,
      truth: TRUTH,
      change: between(': keep-alive\n\n'),
    },
    {
      name: `${upstream}-no-space`,
      title: 'no space after "data:"',
      upstream,
      reply: TEXT,
      truth: TRUTH,
      change: editBytes((bytes) => bytes.replaceAll('data: ', 'data:')),
    },
    {
      name: `${upstream}-unknown-fields`,
      title: 'unknown fields in every event',
      upstream,
      reply: TEXT,
      truth: TRUTH,
      change: editJson((event) => Object.assign(event, { x_vendor: { a: [1, null] } })),
    },
    {
      name: `${upstream}-left-open`,
      title: 'a connection that stays open after the end',
      upstream,
      reply: TEXT,
      truth: TRUTH,
      send: 'left open',
    },
  ]),
  {
    ...chat,
    name: 'chat-without-done',
    title: 'no [DONE] after finish and usage',
    change: (pieces) => pieces.filter(({ label }) => label !== 'end'),
  },
  {
    ...chat,
    name: 'chat-filter-results-first',
    title: 'a first chunk without choices',
    change: insertFirst(writeEvent({ id: '', object: '', created: 0, model: '', choices: [], prompt_filter_results: [] })),
  },
  {
    ...chat,
    name: 'chat-role-every-time',
    title: 'the role in every chunk',
    change: editJson((event) => event.choices[0] && Object.assign(event.choices[0].delta, { role: 'assistant' })),
  },
  {
    ...chat,
    name: 'chat-null-content',
    title: 'content, reasoning and calls null where there are none',
    change: editJson(
      (event) =>
        event.choices[0] &&
        Object.assign(event.choices[0], { delta: { content: null, reasoning_content: null, tool_calls: null, ...event.choices[0].delta } }),
    ),
  },
  {
    ...chat,
    name: 'chat-finish-empty',
    title: 'finish_reason "" until the end',
    change: editJson(
      (event) => event.choices[0] && Object.assign(event.choices[0], { finish_reason: event.choices[0].finish_reason ?? '' }),
    ),
  },
  { ...chat, name: 'chat-no-index', title: 'choices without index', change: editJson((event) => delete event.choices[0]?.index) },
  {
    ...chatCalls,
    name: 'chat-call-repeats-id',
    title: 'id and name of a call in each of its pieces',
    change: editJson((event) => repeatCall(event)),
  },
  {
    ...chatCalls,
    name: 'chat-call-id-empty',
    title: 'id and name "" in later pieces of a call',
    change: editJson((event) => emptyCall(event)),
  },
  { ...chatCalls, name: 'chat-call-whole', title: 'a call in one piece, with its finish', change: wholeCall },
  {
    ...chatCalls,
    name: 'chat-call-stop',
    title: 'a call that ends with finish_reason "stop"',
    change: editBytes((bytes) => bytes.replace('"finish_reason":"tool_calls"', '"finish_reason":"stop"')),
  },
  {
    upstream: 'messages',
    reply: TEXT,
    truth: TRUTH,
    name: 'messages-ping',
    title: 'pings and events of an unknown type',
    change: between(writeEvent({ type: 'ping' }, 'ping') + writeEvent({ type: 'vendor_note', note: 'hello' }, 'vendor_note')),
  },
  {
    upstream: 'messages',
    reply: CALLS,
    truth: TRUTH,
    name: 'messages-empty-delta',
    title: 'an empty first piece of the input of a call',
    change: editBytes((bytes) => bytes.replace('event: content_block_delta', `${emptyDelta()}event: content_block_delta`)),
  },
  {
    upstream: 'responses',
    reply: TEXT,
    truth: TRUTH,
    name: 'responses-unknown-events',
    title: 'events of an unknown type',
    change: between(writeEvent({ type: 'response.vendor.note', note: 'hello' }, 'response.vendor.note')),
  },
  {
    upstream: 'responses',
    reply: CALLS,
    truth: TRUTH,
    name: 'responses-call-at-its-end',
    title: 'the arguments of a call only at its end',
    change: (pieces) => pieces.filter(({ bytes }) => !bytes.includes('.delta')),
  },
];

/** Replies that are written in ways of their own: each client format hears them as they were meant. */
export const oddities: readonly Row[] = ODDITIES.flatMap((oddity) =>
  FORMAT_NAMES.map((client): Row => {
    const model = MODEL_BY_FORMAT[oddity.upstream];
    return {
      id: `oddities/${oddity.name}-to-${client}`,
      group: 'oddities',
      title: `${oddity.upstream} upstream, ${client} client: ${oddity.title}`,
      needs: [],
      pair: { client, model },
      isQuick: oddity.name === 'chat-byte-by-byte' && client === 'chat',
      run: (bench) => hear(bench, { client, model, oddity }),
    };
  }),
);

async function hear(bench: Bench, { client, model, oddity }: { client: FormatName; model: Model; oddity: Oddity }): Promise<Outcome> {
  const { reply, truth, change = (pieces) => pieces, send } = oddity;
  const opened = bench.openCase(async (call) => {
    call.answer();
    await sendPieces(call, change(call.format.writeStream(reply)), send);
    if (send === 'left open') await call.pause(OPEN_MS);
    call.end();
  }, truth);
  const wallet = await bench.openWallet();
  const started = performance.now();
  const exchange = bench.send(opened, { client, model, wallet });
  // A client reads to the end of the reply, and does not wait for that of the connection.
  await exchange.until(({ end }) => end !== 'open').catch(() => {});
  const ms = Math.round(performance.now() - started);
  if (send === 'left open') exchange.leave();
  const heard = exchange.heard.end === 'complete' ? exchange.heard : await exchange.done;
  const text = reply.parts.flatMap((part) => (part.kind === 'text' ? part.pieces : [])).join('');
  const calls = reply.parts.flatMap((part) => (part.kind === 'call' ? [{ name: part.name, arguments: part.pieces.join('') }] : []));
  const faults = [...heard.faults];
  if (heard.text !== text) faults.push(`the text was ${JSON.stringify(heard.text)}`);
  if (JSON.stringify(heard.calls.map(describeCall)) !== JSON.stringify(calls)) faults.push(`the calls were ${JSON.stringify(heard.calls)}`);
  if (heard.finish !== reply.finish) faults.push(`the finish was ${heard.finish} instead of ${reply.finish}`);
  if (heard.end !== 'complete') faults.push(`the reply did not end well: ${heard.status} ${heard.error?.message ?? heard.end}`);
  if (heard.usage?.prompt !== truth.prompt || heard.usage.output !== truth.output)
    faults.push(`the client was told ${JSON.stringify(heard.usage)}`);
  if (ms >= OPEN_MS) faults.push(`the client waited ${ms} ms for a reply that was complete at once`);
  return { money: await bench.bill(wallet, [opened]), faults };
}

function describeCall({ name, arguments: text }: HeardCall): { name: string; arguments: string } {
  return { name, arguments: text };
}

async function sendPieces(call: Call, pieces: StreamPiece[], send: Oddity['send']): Promise<void> {
  for (const piece of send === 'in one write' ? [join(pieces)] : pieces) {
    if (send === 'byte by byte') for (const byte of Buffer.from(piece.bytes)) await call.write(Buffer.of(byte));
    else await call.write(piece.bytes);
    call.outputServed += piece.tokens;
    if (piece.completes) call.complete();
  }
}

function join(pieces: StreamPiece[]): StreamPiece {
  const tokens = pieces.reduce((sum, piece) => sum + piece.tokens, 0);
  return { bytes: pieces.map(({ bytes }) => bytes).join(''), tokens, label: 'end', completes: true };
}

// biome-ignore lint/suspicious/noExplicitAny: an event of Chat Completions
function repeatCall(event: any): void {
  const [piece] = event.choices[0]?.delta.tool_calls ?? [];
  if (piece) Object.assign(piece, { id: 'call_a1', type: 'function', function: { name: 'look_up', ...piece.function } });
}

// biome-ignore lint/suspicious/noExplicitAny: an event of Chat Completions
function emptyCall(event: any): void {
  const [piece] = event.choices[0]?.delta.tool_calls ?? [];
  if (piece && piece.id === undefined) Object.assign(piece, { id: '', function: { name: '', ...piece.function } });
}

function wholeCall(pieces: StreamPiece[]): StreamPiece[] {
  const whole = { index: 0, id: 'call_a1', type: 'function', function: { name: 'look_up', arguments: '{"city":"Rome"}' } };
  const finish = pieces.findIndex(({ label }) => label === 'finish');
  const bytes = pieces[finish]?.bytes.replace('"delta":{}', `"delta":${JSON.stringify({ tool_calls: [whole] })}`) ?? '';
  return [...pieces.slice(0, 1), { bytes, tokens: 6, label: 'finish' }, ...pieces.slice(finish + 1)];
}

function emptyDelta(): string {
  return writeEvent(
    { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '' } },
    'content_block_delta',
  );
}
