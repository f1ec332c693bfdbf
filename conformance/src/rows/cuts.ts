import { type Bench, inParallel, type Money, textReply } from '../bench.ts';
import { FORMAT_NAMES, type FormatName, type StreamPiece } from '../formats/format.ts';
import { FORMATS } from '../formats/formats.ts';
import { MODEL_BY_FORMAT } from '../models.ts';
import type { Script } from '../upstream/case.ts';
import type { Outcome, Row } from './row.ts';

const AT_ONCE = 16;
const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n';
const PLAIN_HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ';

/** The upstream's reply is cut at every byte, its head included. */
export const cuts: readonly Row[] = FORMAT_NAMES.flatMap((client) => [
  ...(['every', 'every-tenth'] as const).map(
    (step): Row => ({
      id: `cuts/${client}-streamed-${step}`,
      group: 'cuts',
      title: `${client}, streamed: the upstream is cut at ${step === 'every' ? 'every byte' : 'every tenth byte'}`,
      needs: [],
      pair: { client, model: MODEL_BY_FORMAT[client] },
      isQuick: step === 'every-tenth' && client === 'chat',
      run: (bench) => cutStream(bench, client, step === 'every' ? 1 : 10),
    }),
  ),
  {
    id: `cuts/${client}-plain-every`,
    group: 'cuts',
    title: `${client}, plain: the upstream is cut at every byte`,
    needs: [],
    pair: { client, model: MODEL_BY_FORMAT[client] },
    run: (bench) => cutPlain(bench, client),
  },
]);

interface Cut {
  at: number;
  money: Money | undefined;
  faults: string[];
}

async function cutStream(bench: Bench, client: FormatName, step: number): Promise<Outcome> {
  const { reply } = textReply(5);
  const pieces = FORMATS[client].writeStream(reply);
  const chunks = pieces.map(({ bytes }) => `${Buffer.byteLength(bytes).toString(16)}\r\n${bytes}\r\n`);
  const raw = Buffer.from(`${HEAD}${chunks.join('')}0\r\n\r\n`);
  const text = reply.parts.flatMap((part) => part.pieces).join('');
  const script =
    (at: number): Script =>
    (call) =>
      call.writeRaw(raw.subarray(0, at), servedUntil(at, pieces));
  return cutAtEach(bench, { client, stream: true, length: raw.length, step, script, text });
}

async function cutPlain(bench: Bench, client: FormatName): Promise<Outcome> {
  const { reply } = textReply(5);
  const body = FORMATS[client].writeReply(reply);
  const raw = Buffer.from(`${PLAIN_HEAD}${Buffer.byteLength(body)}\r\n\r\n${body}`);
  const script =
    (at: number): Script =>
    (call) =>
      call.writeRaw(raw.subarray(0, at), { outputServed: 0, isComplete: at === raw.length });
  return cutAtEach(bench, {
    client,
    stream: false,
    length: raw.length,
    step: 1,
    script,
    text: reply.parts.flatMap((part) => part.pieces).join(''),
  });
}

/** Output of the pieces that were sent whole. */
function servedUntil(at: number, pieces: StreamPiece[]): { outputServed: number; isComplete: boolean } {
  let end = HEAD.length;
  const facts = { outputServed: 0, isComplete: false };
  for (const { bytes, tokens, completes } of pieces) {
    const length = Buffer.byteLength(bytes);
    end += `${length.toString(16)}\r\n`.length + length;
    if (end > at) break;
    facts.outputServed += tokens;
    facts.isComplete ||= completes === true;
    end += 2;
  }
  return facts;
}

async function cutAtEach(
  bench: Bench,
  {
    client,
    stream,
    length,
    step,
    script,
    text,
  }: { client: FormatName; stream: boolean; length: number; step: number; script: (at: number) => Script; text: string },
): Promise<Outcome> {
  const { truth } = textReply(5);
  const wallet = await bench.openWallet();
  const cases = [];
  const cuts: Cut[] = [];
  const offsets = Array.from({ length: Math.ceil((length + 1) / step) }, (_, index) => Math.min(length, index * step));
  for (const at of offsets) cases.push({ at, opened: bench.openCase(script(at), truth) });
  await inParallel(cases, AT_ONCE, async ({ at, opened }) => {
    const heard = await bench.send(opened, { client, model: MODEL_BY_FORMAT[client], stream, wallet }).done;
    const faults: string[] = [];
    const isWhole = opened.calls.at(-1)?.isComplete === true;
    if (heard.end === 'complete' && !isWhole)
      faults.push(
        `cut at byte ${at} of ${length}: the client got a reply that ends well: "${heard.text}" (${heard.finish ?? 'no finish'})`,
      );
    if (isWhole && at === length && (heard.end !== 'complete' || heard.text !== text))
      faults.push(`at byte ${at}: the whole reply did not arrive`);
    if (!text.startsWith(heard.text)) faults.push(`cut at byte ${at}: the client got text that the upstream did not write`);
    if (faults.length > 0) cuts.push({ at, money: undefined, faults });
  });
  const money = await bench.bill(
    wallet,
    cases.map(({ opened }) => opened),
  );
  const faults = cuts.flatMap((cut) => cut.faults);
  return { money, faults: summarize(faults), note: `${offsets.length} cuts of ${length} bytes` };
}

function summarize(faults: string[]): string[] {
  return faults.length > 3 ? [...faults.slice(0, 3), `and ${faults.length - 3} more of ${faults.length}`] : faults;
}
