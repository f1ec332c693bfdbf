import fc from 'fast-check';
import type { UpstreamAdapter } from '../src/upstreams/upstream-adapter.js';

/** A call that a model has made. */
export interface MadeCall {
  id: string;
  name: string;
  arguments: Record<string, unknown>;
}

/** One event about a call, in the words of no dialect. */
interface CallPiece {
  at: number;
  call: MadeCall;
  /** `start`: id and name. `part`: a part of the arguments. `named`: id and name again, and a part. `whole`: all that is known, at the end. */
  kind: 'start' | 'part' | 'named' | 'whole';
  text: string;
}

/** Ways in which servers send the arguments of one call; each adds up to the same arguments. */
const STYLES = {
  parts: (parts) => parts,
  'one piece': (parts) => [parts.join('')],
  'the whole text again': (parts) => [...parts, parts.join('')],
  'the parts again': (parts) => [...parts, ...parts],
  'the whole text three times': (parts) => [parts.join(''), parts.join(''), parts.join('')],
  cumulated: (parts) => parts.map((_, last) => parts.slice(0, last + 1).join('')),
  'cumulated, the last one twice': (parts) => [...parts.map((_, last) => parts.slice(0, last + 1).join('')), parts.join('')],
  'braces first': (parts) => ['{}', ...parts],
  'braces last': (parts) => [...parts, '{}'],
  'blanks last': (parts) => [...parts, '', ' \n'],
} satisfies Record<string, (parts: string[]) => string[]>;

const values = fc.jsonValue({ maxDepth: 2 });
const objects = fc.dictionary(fc.string({ maxLength: 6 }), values, { maxKeys: 3, noNullPrototype: true });
const call = fc.record({ name: fc.constantFrom('run', 'read', 'agents__close'), arguments: objects });

interface Way {
  style: keyof typeof STYLES;
  cuts: number[];
  /** Each piece repeats id and name. */
  named: boolean;
  /** Id and name come once more at the end, without arguments. */
  again: boolean;
  /** The arguments come once more, as a whole. */
  summary: 'none' | 'text' | 'encoded twice' | 'braces';
}

const ways: fc.Arbitrary<Way> = fc.record({
  style: fc.constantFrom(...(Object.keys(STYLES) as (keyof typeof STYLES)[])),
  cuts: fc.array(fc.nat(), { maxLength: 6 }),
  named: fc.boolean(),
  again: fc.boolean(),
  summary: fc.constantFrom('none', 'text', 'encoded twice', 'braces'),
});

/** Fields that tell the calls of a stream apart. Only calls with an index of their own may be mixed. */
type Identity = 'index' | 'one index and ids' | 'ids';

/** Calls, and the pieces in which a server sends them: split, repeated and summarised in any way, one call after the other or mixed. */
export const repeatedCalls: fc.Arbitrary<{ calls: MadeCall[]; pieces: CallPiece[]; identity: Identity }> = fc
  .tuple(
    fc.array(fc.tuple(call, ways), { minLength: 1, maxLength: 3 }),
    fc.array(fc.nat(), { maxLength: 12 }),
    fc.constantFrom<Identity>('index', 'one index and ids', 'ids'),
  )
  .map(([made, order, identity]) => {
    const calls = made.map(([{ name, arguments: args }], at) => ({ id: `call_${at}`, name, arguments: JSON.parse(JSON.stringify(args)) }));
    const queues = made.map(([, way], at) => cutPieces(calls[at] as MadeCall, at, way));
    return { calls, pieces: mix(queues, identity === 'index' ? order : []), identity };
  });

function cutPieces(made: MadeCall, at: number, { style, cuts, named, again, summary }: Way): CallPiece[] {
  const text = JSON.stringify(made.arguments);
  const piece = (kind: CallPiece['kind'], part: string): CallPiece => ({ at, call: made, kind, text: part });
  const wholes = { none: [], text: [text], 'encoded twice': [JSON.stringify(text)], braces: ['{}'] }[summary];
  return [
    piece('start', ''),
    ...STYLES[style](split(text, cuts)).map((part) => piece(named ? 'named' : 'part', part)),
    ...(again ? [piece('named', '')] : []),
    ...wholes.map((whole) => piece('whole', whole)),
  ];
}

function split(text: string, cuts: readonly number[]): string[] {
  const points = [...new Set(cuts.map((cut) => cut % text.length))].filter((point) => point > 0).sort((a, b) => a - b);
  return [...points, text.length].map((end, n) => text.slice(points[n - 1] ?? 0, end));
}

/** Takes from the queues in turn, as `order` says; then what is left. */
function mix(queues: CallPiece[][], order: readonly number[]): CallPiece[] {
  const mixed = order.flatMap((n) => queues[n % queues.length]?.shift() ?? []);
  return [...mixed, ...queues.flat()];
}

/** Writes the pieces as the payloads of a stream that ends well. Only chat has calls without an index of their own. */
export const CALL_WRITERS: Record<UpstreamAdapter['kind'], (pieces: readonly CallPiece[], identity: Identity) => unknown[]> = {
  'openai-chat': (pieces, identity) => {
    const delta = (fields: object, finish: string | null = null) => ({ choices: [{ index: 0, delta: fields, finish_reason: finish }] });
    return [
      ...pieces.map(({ at, call: { id, name }, kind, text }) =>
        delta({
          tool_calls: [
            {
              index: { index: at, 'one index and ids': 0, ids: undefined }[identity],
              ...(kind !== 'part' && { id, type: 'function' }),
              function: { ...(kind !== 'part' && { name }), arguments: kind === 'whole' ? parseObject(text) : text },
            },
          ],
        }),
      ),
      delta({}, 'tool_calls'),
      { choices: [], usage: { prompt_tokens: 30, completion_tokens: 10 } },
    ];
  },
  'anthropic-messages': (pieces) => [
    { type: 'message_start', message: { usage: { input_tokens: 30, output_tokens: 1 } } },
    ...pieces.map(({ at, call: { id, name }, kind, text }) => {
      if (kind === 'part' || (kind === 'named' && text !== ''))
        return { type: 'content_block_delta', index: at, delta: { type: 'input_json_delta', partial_json: text } };
      const input = kind === 'whole' ? parseObject(text) : {};
      return { type: 'content_block_start', index: at, content_block: { type: 'tool_use', id, name, input } };
    }),
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 10 } },
    { type: 'message_stop' },
  ],
  'openai-responses': (pieces) => [
    ...pieces.map(({ at, call: made, kind, text }, n) => {
      const item = (fields: object) => ({ type: 'function_call', id: `fc_${at}`, call_id: made.id, name: made.name, ...fields });
      if (kind === 'part' || (kind === 'named' && text !== ''))
        return { type: 'response.function_call_arguments.delta', item_id: `fc_${at}`, output_index: at, delta: text };
      if (kind !== 'whole') return { type: 'response.output_item.added', output_index: at, item: item({ arguments: '' }) };
      return { type: 'response.output_item.done', output_index: at, item: item({ id: `fc_${at}_${n}`, arguments: text }) };
    }),
    { type: 'response.completed', response: { status: 'completed', output: [], usage: { input_tokens: 30, output_tokens: 10 } } },
  ],
  // Its calls come whole, so that only whole ones can be repeated.
  gemini: (pieces) => [
    ...pieces
      .filter(({ kind }) => kind === 'start' || kind === 'whole')
      .map(({ call: { id, name, arguments: args } }) => ({
        candidates: [{ index: 0, content: { parts: [{ functionCall: { id, name, args } }] } }],
      })),
    { candidates: [{ index: 0, finishReason: 'STOP' }], usageMetadata: { promptTokenCount: 30, candidatesTokenCount: 10 } },
  ],
  'bedrock-converse': (pieces) => [
    ...pieces.map(({ at: contentBlockIndex, call: { id, name }, kind, text }) => {
      const isDelta = kind === 'part' || kind === 'whole' || text !== '';
      if (!isDelta) return { contentBlockStart: { contentBlockIndex, start: { toolUse: { toolUseId: id, name } } } };
      return { contentBlockDelta: { contentBlockIndex, delta: { toolUse: { input: kind === 'whole' ? parseObject(text) : text } } } };
    }),
    { messageStop: { stopReason: 'tool_use' } },
    { metadata: { usage: { inputTokens: 30, outputTokens: 10, totalTokens: 40 } } },
  ],
};

/** Returns what a server that does not encode arguments sends; text stays text. */
function parseObject(text: string): unknown {
  return JSON.parse(text);
}
