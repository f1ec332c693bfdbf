import type { Bench } from '../bench.ts';
import { FORMAT_NAMES, type FormatName, type HeardCall, type Part, type Reply, type Tool, type Turn } from '../formats/format.ts';
import { MODEL_BY_FORMAT, type Model } from '../models.ts';
import { play } from '../upstream/play.ts';
import type { Outcome, Row } from './row.ts';

const TOOL: Tool = {
  name: 'look_up',
  description: 'Looks up a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' } }, required: ['city'] },
};
const TRUTH = { prompt: 120, cached: 0, output: 40, reasoning: 0 };

const call = (id: string, ...pieces: string[]): Part => ({ kind: 'call', id, name: TOOL.name, pieces });

/** Replies with calls, and the calls that a client must hear. */
const REPLIES: readonly { name: string; title: string; parts: Part[]; text?: string }[] = [
  { name: 'one-call', title: 'one call in several pieces', parts: [call('call_a1', '{"ci', 'ty":"Ro', 'me","days":3}')] },
  {
    name: 'two-calls',
    title: 'two calls of one tool at once',
    parts: [call('call_a1', '{"city":"Rome"}'), call('call_b2', '{"city":', '"Oslo"}')],
  },
  {
    name: 'text-and-call',
    title: 'text before a call',
    parts: [{ kind: 'text', pieces: ['Let me ', 'look.'] }, call('call_a1', '{"city":"Rome"}')],
    text: 'Let me look.',
  },
  { name: 'no-arguments', title: 'a call with empty arguments', parts: [call('call_a1', '{}')] },
  {
    name: 'unicode',
    title: 'arguments with characters beyond ASCII and escapes',
    parts: [call('call_a1', '{"city":"M\\u00fcnchen \\"ü\\" ', '日本 🌍"}')],
  },
];

/** Calls of tools, on every pair of client format and upstream format. */
export const tools: readonly Row[] = FORMAT_NAMES.flatMap((client) =>
  FORMAT_NAMES.flatMap((upstream) => {
    const model = MODEL_BY_FORMAT[upstream];
    const at = `${client}-at-${upstream}`;
    const titled = `${client} client, ${upstream} upstream`;
    return [
      ...REPLIES.flatMap(({ name, title, parts, text }) =>
        [true, false].map(
          (stream): Row => ({
            id: `tools/${at}-${name}-${stream ? 'streamed' : 'plain'}`,
            group: 'tools',
            title: `${titled}: ${title}, ${stream ? 'streamed' : 'plain'}`,
            needs: [],
            pair: { client, model },
            isQuick: name === 'two-calls' && stream,
            run: (bench) => hearCalls(bench, { client, model, stream, parts, text: text ?? '' }),
          }),
        ),
      ),
      {
        id: `tools/${at}-results`,
        group: 'tools',
        title: `${titled}: the tool, an earlier call and its result reach the upstream`,
        needs: [],
        pair: { client, model },
        run: (bench) => sendResults(bench, client, model),
      },
    ];
  }),
);

async function hearCalls(
  bench: Bench,
  { client, model, stream, parts, text }: { client: FormatName; model: Model; stream: boolean; parts: Part[]; text: string },
): Promise<Outcome> {
  const reply: Reply = { parts, finish: 'tools', usage: TRUTH };
  const opened = bench.openCase(play(reply), TRUTH);
  const wallet = await bench.openWallet();
  const heard = await bench.send(opened, { client, model, stream, wallet, ask: { tools: [TOOL] } }).done;
  const expected = parts.flatMap((part) =>
    part.kind === 'call' ? [{ id: part.id, name: part.name, arguments: part.pieces.join('') }] : [],
  );
  const faults = [...heard.faults, ...compareCalls(expected, heard.calls)];
  if (heard.text !== text) faults.push(`the text was "${heard.text}" instead of "${text}"`);
  if (heard.finish !== 'tools') faults.push(`the finish was ${heard.finish}`);
  if (heard.end !== 'complete') faults.push(`the reply did not end well: ${heard.status} ${heard.error?.message ?? heard.end}`);
  return { money: await bench.bill(wallet, [opened]), faults };
}

/** Ids may be changed, if each call has one of its own. Arguments must be the same JSON. */
function compareCalls(expected: HeardCall[], heard: HeardCall[]): string[] {
  const sort = (calls: HeardCall[]): string[] => calls.map(({ name, arguments: text }) => `${name} ${normalize(text)}`).sort();
  const [want, got] = [sort(expected), sort(heard)];
  const faults =
    JSON.stringify(want) === JSON.stringify(got) ? [] : [`calls were ${JSON.stringify(heard)} instead of ${JSON.stringify(expected)}`];
  const ids = heard.map(({ id }) => id);
  if (ids.some((id) => !id) || new Set(ids).size < ids.length) faults.push(`ids of calls were ${JSON.stringify(ids)}`);
  return faults;
}

function normalize(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text || '{}'));
  } catch {
    return `not JSON: ${text}`;
  }
}

async function sendResults(bench: Bench, client: FormatName, model: Model): Promise<Outcome> {
  const opened = bench.openCase(play({ parts: [{ kind: 'text', pieces: ['It is sunny.'] }], finish: 'stop', usage: TRUTH }), TRUTH);
  const wallet = await bench.openWallet();
  const turns: Turn[] = [
    { role: 'system', text: 'Answer in one sentence.' },
    { role: 'user', text: opened.prompt },
    { role: 'call', id: 'call_a1', name: TOOL.name, arguments: '{"city":"Rome","days":3}' },
    { role: 'result', id: 'call_a1', text: 'sunny, 24 degrees, "wind": none' },
    { role: 'user', text: 'And now in one sentence?' },
  ];
  const heard = await bench.send(opened, { client, model, wallet, ask: { turns, tools: [TOOL] } }).done;
  const faults = heard.end === 'complete' ? [] : [`the reply did not end well: ${heard.status} ${heard.error?.message ?? heard.end}`];
  const received = opened.calls[0]?.received;
  if (!received) return { money: await bench.bill(wallet, [opened]), faults: [...faults, 'the upstream was not called'] };
  const sent = received.turns;
  for (const turn of turns) {
    const isThere = sent.some(
      (one) =>
        describeTurn(one) === describeTurn(turn) ||
        (one.role === turn.role && 'text' in one && 'text' in turn && one.text.includes(turn.text)),
    );
    if (!isThere) faults.push(`the upstream did not get ${describeTurn(turn)}`);
  }
  const ids = sent.flatMap((turn) => (turn.role === 'call' || turn.role === 'result' ? [turn.id] : []));
  if (new Set(ids).size > 1) faults.push(`the call and its result have different ids upstream: ${ids.join(', ')}`);
  const tool = received.tools[0];
  if (tool?.name !== TOOL.name || tool.description !== TOOL.description) faults.push('the upstream did not get the tool');
  const properties = (tool?.parameters as { properties?: object } | undefined)?.properties;
  if (JSON.stringify(properties) !== JSON.stringify((TOOL.parameters as { properties: object }).properties))
    faults.push('the schema of the tool was changed');
  return { money: await bench.bill(wallet, [opened]), faults };
}

function describeTurn(turn: Turn): string {
  if (turn.role === 'call') return `the call ${turn.name} ${normalize(turn.arguments)}`;
  return `${turn.role === 'result' ? 'the result' : `the ${turn.role} turn`} "${turn.text}"`;
}
