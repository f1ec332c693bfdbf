import { setTimeout as delay } from 'node:timers/promises';
import { type Bench, textReply } from '../bench.ts';
import { writeEvent } from '../formats/events.ts';
import type { FormatName, StreamPiece } from '../formats/format.ts';
import { MODEL_BY_FORMAT } from '../models.ts';
import type { Usage } from '../money/terms.ts';
import { type Interruptions, play } from '../upstream/play.ts';
import type { Row } from './row.ts';

/** A usage that is late, missing, repeated or contradicts itself, and the one that the upstream means. */
interface Story {
  name: string;
  title: string;
  format: FormatName;
  stream: boolean;
  truth?: Partial<Usage>;
  interruptions?: Interruptions;
  reportsNone?: boolean;
  isQuick?: boolean;
}

const TRUTH: Usage = { prompt: 64, cached: 0, output: 24, reasoning: 0 };
const chunk = (fields: object): string =>
  writeEvent({ id: 'chatcmpl-kit', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'scripted', choices: [], ...fields });
const chatUsage = (prompt: number, output: number, more: object = {}): object => ({
  usage: { prompt_tokens: prompt, completion_tokens: output, total_tokens: prompt + output, ...more },
});
const insertBefore =
  (label: StreamPiece['label'], bytes: string) =>
  (pieces: StreamPiece[]): StreamPiece[] => {
    const at = pieces.findIndex((piece) => piece.label === label);
    return [...pieces.slice(0, at), { bytes, tokens: 0, label: 'usage' }, ...pieces.slice(at)];
  };
const edit =
  (label: StreamPiece['label'], change: (bytes: string) => string) =>
  (pieces: StreamPiece[]): StreamPiece[] =>
    pieces.map((piece) => (piece.label === label ? { ...piece, bytes: change(piece.bytes) } : piece));

const STORIES: readonly Story[] = [
  {
    name: 'chat-early-and-final',
    title: 'an early usage of the prompt alone, then the final one',
    format: 'chat',
    stream: true,
    interruptions: { pieces: insertBefore('content', chunk(chatUsage(64, 0))) },
    isQuick: true,
  },
  {
    name: 'chat-running-total',
    title: 'a running usage that grows, then the final one',
    format: 'chat',
    stream: true,
    interruptions: { pieces: insertBefore('finish', chunk(chatUsage(64, 20))) },
  },
  {
    name: 'chat-larger-then-smaller',
    title: 'a larger usage, corrected by the final one',
    format: 'chat',
    stream: true,
    interruptions: { pieces: insertBefore('finish', chunk(chatUsage(640, 190))) },
  },
  {
    name: 'chat-repeated',
    title: 'the final usage twice',
    format: 'chat',
    stream: true,
    interruptions: { pieces: insertBefore('usage', chunk(chatUsage(64, 24))) },
  },
  {
    name: 'chat-with-the-finish',
    title: 'the usage in the chunk of the finish',
    format: 'chat',
    stream: true,
    interruptions: {
      pieces: (pieces) =>
        edit('finish', (bytes) => bytes.replace('}]}', `}],${JSON.stringify(chatUsage(64, 24)).slice(1)}`))(pieces)
          .filter(({ label }) => label !== 'usage')
          .map((piece) => (piece.label === 'finish' ? { ...piece, completes: true } : piece)),
    },
  },
  {
    name: 'chat-null',
    title: 'usage null in every chunk, then the final one',
    format: 'chat',
    stream: true,
    interruptions: { pieces: edit('content', (bytes) => bytes.replace('"choices"', '"usage":null,"choices"')) },
  },
  { name: 'chat-none', title: 'no usage at all', format: 'chat', stream: true, reportsNone: true, isQuick: true },
  { name: 'chat-plain-none', title: 'a plain reply without usage', format: 'chat', stream: false, reportsNone: true },
  { name: 'chat-cached', title: 'cached tokens', format: 'chat', stream: true, truth: { cached: 32 }, isQuick: true },
  {
    name: 'chat-cached-twice',
    title: 'cached tokens in the details and beside them (prompt_cache_hit_tokens)',
    format: 'chat',
    stream: true,
    truth: { cached: 32 },
    interruptions: {
      pieces: edit('usage', (bytes) =>
        bytes.replace('"prompt_tokens":64', '"prompt_tokens":64,"prompt_cache_hit_tokens":32,"prompt_cache_miss_tokens":32'),
      ),
    },
  },
  {
    name: 'chat-reasoning-beside',
    title: 'reasoning tokens that are part of the completion',
    format: 'chat',
    stream: true,
    truth: { output: 100, reasoning: 76 },
  },
  {
    name: 'chat-text-counts',
    title: 'counts written as text',
    format: 'chat',
    stream: true,
    interruptions: {
      pieces: edit('usage', (bytes) =>
        bytes.replace('"prompt_tokens":64', '"prompt_tokens":"64"').replace('"completion_tokens":24', '"completion_tokens":"24"'),
      ),
    },
  },
  {
    name: 'chat-choices-in-usage-chunk',
    title: 'an empty choice in the chunk of the usage',
    format: 'chat',
    stream: true,
    interruptions: {
      pieces: edit('usage', (bytes) => bytes.replace('"choices":[]', '"choices":[{"index":0,"delta":{},"finish_reason":null}]')),
    },
  },
  { name: 'chat-plain-cached', title: 'a plain reply with cached tokens', format: 'chat', stream: false, truth: { cached: 48 } },
  { name: 'responses-cached', title: 'cached tokens', format: 'responses', stream: true, truth: { cached: 32 } },
  { name: 'responses-none', title: 'no usage at all', format: 'responses', stream: true, reportsNone: true },
  { name: 'responses-reasoning', title: 'reasoning tokens', format: 'responses', stream: true, truth: { output: 100, reasoning: 76 } },
  { name: 'messages-cached', title: 'cached tokens, beside the input', format: 'messages', stream: true, truth: { cached: 32 } },
  {
    name: 'messages-start-and-delta',
    title: 'output of one in message_start, the cumulative count in message_delta',
    format: 'messages',
    stream: true,
    interruptions: { pieces: edit('opening', (bytes) => bytes.replace('"output_tokens":0', '"output_tokens":1')) },
  },
  {
    name: 'messages-delta-corrects-input',
    title: 'message_start counts no input, message_delta has it',
    format: 'messages',
    stream: true,
    interruptions: { pieces: edit('opening', (bytes) => bytes.replace('"input_tokens":64', '"input_tokens":0')) },
  },
  {
    name: 'messages-delta-output-only',
    title: 'message_delta has the output alone',
    format: 'messages',
    stream: true,
    truth: { cached: 32 },
    interruptions: { pieces: edit('finish', (bytes) => bytes.replace(/"usage":\{[^}]*\}/, '"usage":{"output_tokens":24}')) },
  },
  {
    name: 'messages-two-deltas',
    title: 'two message_delta with growing usage',
    format: 'messages',
    stream: true,
    interruptions: {
      pieces: insertBefore('finish', writeEvent({ type: 'message_delta', delta: {}, usage: { output_tokens: 12 } }, 'message_delta')),
    },
  },
  { name: 'messages-none', title: 'no usage at all', format: 'messages', stream: true, reportsNone: true },
];

/** Late and contradictory usage. */
export const usage: readonly Row[] = [...STORIES.map(storyRow), lateRow('chat'), lateRow('messages')];

function storyRow({ name, title, format, stream, truth: changes, interruptions, reportsNone, isQuick }: Story): Row {
  const model = MODEL_BY_FORMAT[format];
  return {
    id: `usage/${name}`,
    group: 'usage',
    title: `${format}: ${title}`,
    needs: [],
    pair: { client: format, model },
    ...(isQuick && { isQuick }),
    run: async (bench) => {
      const truth = { ...TRUTH, ...changes };
      const { reply } = textReply(6);
      const opened = bench.openCase(play({ ...reply, usage: reportsNone ? null : truth }, interruptions), truth);
      const wallet = await bench.openWallet();
      const heard = await bench.send(opened, { client: format, model, stream, wallet }).done;
      const faults = heard.end === 'complete' ? [] : [`the reply did not end well: ${heard.status} ${heard.error?.message ?? heard.end}`];
      const said = heard.usage;
      if (!reportsNone && said && (said.prompt !== truth.prompt || said.output !== truth.output || said.cached !== truth.cached))
        faults.push(`the client was told ${describe(said)}, the upstream means ${describe(truth)}`);
      if (!reportsNone && !said) faults.push('the client was told no usage');
      return { money: await bench.bill(wallet, [opened]), faults };
    },
  };
}

/** The usage comes a second after the finish. */
function lateRow(format: FormatName): Row {
  const model = MODEL_BY_FORMAT[format];
  return {
    id: `usage/${format}-late`,
    group: 'usage',
    title: `${format}: ${format === 'chat' ? 'the usage comes a second after the finish' : 'the finish and the usage come a second after the text'}`,
    needs: [],
    pair: { client: format, model },
    run: async (bench: Bench) => {
      const { reply, truth } = textReply(6);
      const late = { ...truth, output: 77 };
      const opened = bench.openCase(async (call) => {
        call.answer();
        const pieces = call.format.writeStream({ ...reply, usage: late });
        for (const piece of pieces) {
          if (piece.completes) await delay(1_000);
          await call.write(piece.bytes, piece.tokens);
          if (piece.completes) call.complete();
        }
        call.end();
      }, late);
      const wallet = await bench.openWallet();
      const heard = await bench.send(opened, { client: format, model, wallet }).done;
      const faults = heard.end === 'complete' ? [] : [`the reply did not end well: ${heard.error?.message ?? heard.end}`];
      return { money: await bench.bill(wallet, [opened]), faults };
    },
  };
}

function describe({ prompt, cached, output }: Usage): string {
  return `${JSON.stringify(prompt)}+${JSON.stringify(output)} tokens with ${cached} cached`;
}
