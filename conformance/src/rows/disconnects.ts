import { setTimeout as delay } from 'node:timers/promises';
import { type Bench, textReply } from '../bench.ts';
import { FORMAT_NAMES, type FormatName } from '../formats/format.ts';
import { FORMATS } from '../formats/formats.ts';
import { HIDDEN, MODEL_BY_FORMAT, type Model } from '../models.ts';
import { Gate } from '../upstream/gate.ts';
import { play } from '../upstream/play.ts';
import type { Outcome, Row } from './row.ts';

/** Longer than `BEGUN_AFTER_MS`, and shorter. */
const LONG_SILENCE_MS = 1_600;
const SHORT_SILENCE_MS = 150;
/** A gateway that keeps its upstream open for longer goes on paying for a reply that nobody reads. */
const CLOSE_MS = 3_000;

type Moment =
  | 'at once'
  | 'before the head'
  | 'a second before the head'
  | 'before content'
  | 'mid-stream'
  | 'before the finish'
  | 'after the finish'
  | 'after the usage';

const STREAMED: readonly Moment[] = [
  'at once',
  'before the head',
  'a second before the head',
  'before content',
  'mid-stream',
  'before the finish',
  'after the finish',
  'after the usage',
];
const PLAIN: readonly Moment[] = ['at once', 'before the head', 'a second before the head', 'mid-stream'];

/** The client leaves at each moment, in each format, streamed and plain. */
export const disconnects: readonly Row[] = [
  ...FORMAT_NAMES.flatMap((client) => [
    ...STREAMED.map((moment) => disconnectRow(client, moment, true)),
    ...PLAIN.map((moment) => disconnectRow(client, moment, false)),
  ]),
  ...FORMAT_NAMES.map(everyPieceRow),
  ...FORMAT_NAMES.flatMap((client) => FORMAT_NAMES.filter((upstream) => upstream !== client).map((upstream) => crossRow(client, upstream))),
  hiddenRow(),
];

function disconnectRow(client: FormatName, moment: Moment, stream: boolean): Row {
  const model = MODEL_BY_FORMAT[client];
  const how = stream ? 'streamed' : 'plain';
  return {
    id: `disconnects/${client}-${how}-${moment.replaceAll(' ', '-')}`,
    group: 'disconnects',
    title: `${client}, ${how}: the client leaves ${moment === 'mid-stream' && !stream ? 'in the middle of the body' : moment}`,
    needs: [],
    pair: { client, model },
    isQuick: moment === 'mid-stream' || moment === 'before content',
    run: (bench) => leave(bench, { client, model, moment, stream }),
  };
}

function crossRow(client: FormatName, upstream: FormatName): Row {
  const model = MODEL_BY_FORMAT[upstream];
  return {
    id: `disconnects/${client}-at-${upstream}-mid-stream`,
    group: 'disconnects',
    title: `${client} client, ${upstream} upstream, streamed: the client leaves mid-stream`,
    needs: [],
    pair: { client, model },
    run: (bench) => leave(bench, { client, model, moment: 'mid-stream', stream: true }),
  };
}

/** Clients leave after each piece of the same reply, all at one wallet. */
function everyPieceRow(client: FormatName): Row {
  const model = MODEL_BY_FORMAT[client];
  return {
    id: `disconnects/${client}-streamed-after-each-piece`,
    group: 'disconnects',
    title: `${client}, streamed: clients leave after each piece of the reply`,
    needs: ['wallet'],
    pair: { client, model },
    run: async (bench) => {
      const { reply, truth } = textReply(8);
      const wallet = await bench.openWallet();
      const pieces = FORMATS[client].writeStream(reply);
      const content = pieces.findIndex(({ tokens }) => tokens > 0);
      const cases = await Promise.all(
        pieces.slice(content).map(async (_, index) => {
          const gate = new Gate();
          const opened = bench.openCase(play(reply, { before: { piece: content + index + 1, gate } }), truth);
          const exchange = bench.send(opened, { client, model, wallet });
          await gate.reached;
          await exchange.until((heard) => heard.text.length >= (opened.calls[0]?.outputServed ?? 0) * 4);
          exchange.leave();
          await exchange.done;
          await opened.ended();
          gate.open();
          return opened;
        }),
      );
      return { money: await bench.bill(wallet, cases), faults: [], note: `${cases.length} clients` };
    },
  };
}

async function leave(
  bench: Bench,
  { client, model, moment, stream }: { client: FormatName; model: Model; moment: Moment; stream: boolean },
): Promise<Outcome> {
  const { reply, truth } = textReply(8);
  const gate = new Gate();
  const pieces = FORMATS[model.format].writeStream(reply);
  const piece = pieceAt(moment, pieces);
  const isBeforeHead = moment === 'at once' || moment.endsWith('the head');
  const opened = bench.openCase(play(reply, isBeforeHead ? { beforeHead: gate } : { before: { piece, gate } }), truth);
  const wallet = await bench.openWallet();
  const exchange = bench.send(opened, { client, model, stream, wallet });
  if (moment === 'at once') await delay(5);
  else await gate.reached;
  if (moment === 'before the head') await delay(SHORT_SILENCE_MS);
  if (moment === 'a second before the head') await delay(LONG_SILENCE_MS);
  const served = opened.calls[0]?.outputServed ?? 0;
  const hears = moment !== 'before content' && !isBeforeHead && stream;
  if (hears) await exchange.until((heard) => heard.text.length >= served * 4);
  if (moment === 'before content' || (moment === 'mid-stream' && !stream)) await delay(SHORT_SILENCE_MS); // no client can hear that the reply has begun
  const leftAt = performance.now();
  exchange.leave();
  await exchange.done;
  if (moment === 'at once') await delay(SHORT_SILENCE_MS); // it may be on its way to the upstream
  const closed = await closedWithin(
    opened.calls.map((call) => call.closed),
    CLOSE_MS,
  );
  const note = closed ? `upstream closed after ${Math.round(performance.now() - leftAt)} ms` : 'upstream not closed';
  gate.open();
  const isComplete = opened.calls.some((call) => call.isComplete);
  return {
    money: await bench.bill(wallet, [opened]),
    faults: closed || isComplete ? [] : [`the upstream was still open ${CLOSE_MS} ms after the client had left`],
    note,
  };
}

function pieceAt(moment: Moment, pieces: { label: string; tokens: number; completes?: boolean }[]): number {
  const content = pieces.findIndex(({ tokens }) => tokens > 0);
  const finish = pieces.findIndex(({ label }) => label === 'finish');
  switch (moment) {
    case 'before content':
      return content;
    case 'mid-stream':
      return content + 5;
    case 'before the finish':
      return finish;
    case 'after the finish':
      return finish + 1;
    default:
      return pieces.findIndex(({ completes }) => completes) + 1;
  }
}

async function closedWithin(closings: Promise<void>[], ms: number): Promise<boolean> {
  const timeout = new AbortController();
  const late = delay(ms, false, { signal: timeout.signal }).catch(() => false);
  const isClosed = await Promise.race([Promise.all(closings).then(() => true), late]);
  timeout.abort();
  return isClosed;
}

/** The upstream bills output that it does not show, and says so only at the end of its reply. */
function hiddenRow(): Row {
  return {
    id: 'disconnects/hidden-output',
    group: 'disconnects',
    title: 'chat, streamed: the client leaves an upstream that bills 400 hidden tokens, which ends a second later',
    needs: ['wallet', 'hidden output'],
    pair: { client: 'chat', model: HIDDEN },
    run: async (bench) => {
      const { reply } = textReply(8);
      const truth = { prompt: 64, cached: 0, output: 432, reasoning: 400 };
      const gate = new Gate();
      const opened = bench.openCase(play({ ...reply, usage: truth }, { before: { piece: 5, gate } }), truth);
      const wallet = await bench.openWallet();
      const exchange = bench.send(opened, { client: 'chat', model: HIDDEN, wallet, ask: { outputTokensMax: 1_000 } });
      await gate.reached;
      await exchange.until((heard) => heard.text.length >= (opened.calls[0]?.outputServed ?? 0) * 4);
      exchange.leave();
      await exchange.done;
      await delay(1_000);
      const isOpen = opened.calls.every((call) => !call.isClosed);
      gate.open();
      await opened.ended();
      const faults = isOpen ? [] : ['the upstream was closed, and billed the hidden tokens: nobody is charged for them'];
      return { money: await bench.bill(wallet, [opened]), faults };
    },
  };
}
