import { UPSTREAM_KINDS } from '#contracts/catalog.js';
import type { StreamEvent } from '#inference/stream-event.js';
import { computeCost, holdFor, limitPrompt, type Price } from '#money/price.js';
import { encodeEvent } from '#network/event-stream-frame.js';
import { type Fault, FaultServer, LAST_CHUNK, replyHead, send } from '#testing/fault-server.js';
import { FRAMES, toFrames } from '#testing/frames.js';
import { testCases } from '#testing/long-run.js';
import { PATIENT, TestCalls, upstreamAt } from '../../test/upstream-calls.js';
import { foldEvents } from '../../test/upstream-writer.js';
import { CAPS, type Delivery, type ExpectedEnd, expectedEnd, type VendorReply, vendorReplies } from '../../test/vendor-replies.js';
import { writeEvents, writePlain } from '../../test/vendor-reply-writers.js';

/** Short, so that replies that stay open cost no time. Their bytes come in one write, so nothing of them is late. */
const FINISH_MS = 3;
const HEARTBEAT_MS = 1;
/** A reply that hangs is a failed one, by these. */
const HANGING = { ...PATIENT, idleMs: 10_000, totalMs: 10_000 };
const PRICE: Price = { inputPicoUsd: 1_000_000n, cachedInputPicoUsd: 100_000n, outputPicoUsd: 10_000_000n };
const PROMPT_TOKENS_MAX = 60;

const WIRES = [
  ...UPSTREAM_KINDS.map((kind) => ({ kind, name: kind, hasFrames: false })),
  { kind: 'bedrock-converse' as const, name: 'bedrock-converse in frames', hasFrames: true },
];

describe.each(WIRES)('$name', ({ kind, hasFrames }) => {
  let server: FaultServer;
  /** Waits long for the rest of a reply. */
  let patient: TestCalls;
  /** Waits no longer than `FINISH_MS`. */
  let brisk: TestCalls;

  beforeAll(async () => {
    server = await FaultServer.start();
    const url = `http://127.0.0.1:${server.port}/v1`;
    const callsWithin = (finishMs: number) =>
      new TestCalls(upstreamAt(url, { kind, timeouts: { ...HANGING, finishMs }, connectionsMax: 200 }));
    patient = callsWithin(60_000);
    brisk = callsWithin(FINISH_MS);
  });
  afterAll(async () => {
    await Promise.all([patient.close(), brisk.close()]);
    await server.stop();
  });

  testCases(
    'a reply ends as its vendor says, without waiting for more than its grace, and is billed as its vendor counts, within the hold',
    { usual: 100, long: 34_000 },
    hasFrames ? vendorReplies(kind).filter(({ reply, delivery }) => reply.marker === 'none' && delivery.isStream) : vendorReplies(kind),
    async ({ reply, delivery, cuts, stream }) => {
      const isOpen = delivery.end.startsWith('stays open');
      const text = delivery.isStream ? writeEvents(kind, reply).join('') : writePlain(kind, reply);
      const wire = hasFrames
        ? { bytes: Buffer.concat(toFrames(text)), ...FRAMED }
        : { bytes: Buffer.from(text), ...(delivery.isStream ? EVENTS : PLAIN) };
      server.behave(deliver(wire, delivery, isOpen ? [] : cuts));
      const events = await (isOpen ? brisk : patient).collect({ ...CAPS, request: { stream } });
      const expected = expectedEnd(kind, reply, delivery);
      expect(readEnd(events)).toEqual(shownEnd(expected));
      if (!('failed' in expected)) expect(readContent(events)).toEqual(collectPieces(reply));
      for (const event of events) if (event.type === 'usage-report') expectWithinHold(event.usage);
    },
  );
});

interface Wire {
  bytes: Buffer;
  head: string;
  /** Keeps a connection alive, and is no part of the reply. */
  heartbeat: Buffer;
}

const EVENTS = { head: replyHead(), heartbeat: makeChunk(Buffer.from(': ping\n\n')) };
const PLAIN = { head: replyHead({ 'content-type': 'application/json' }), heartbeat: makeChunk(Buffer.from('\n')) };
const FRAMED = { head: replyHead(FRAMES), heartbeat: makeChunk(encodeEvent('ping', '{}')) };

function deliver({ bytes, head, heartbeat }: Wire, { end }: Delivery, cuts: readonly number[]): Fault {
  return async ({ socket }) => {
    const points = [...new Set(cuts.map((cut) => cut % bytes.length))].filter((point) => point > 0).sort((a, b) => a - b);
    const packets = [...points, bytes.length].map((to, n) => makeChunk(bytes.subarray(points[n - 1] ?? 0, to)));
    packets[0] = Buffer.concat([Buffer.from(head), packets[0] as Buffer]);
    if (end === 'closes') packets.push(Buffer.concat([packets.pop() as Buffer, Buffer.from(LAST_CHUNK)]));
    for (const packet of packets) {
      await send(socket, packet);
      if (packets.length > 1) await new Promise(setImmediate);
    }
    if (end === 'breaks') socket.end();
    if (end !== 'stays open with heartbeats') return;
    const timer = setInterval(() => socket.write(heartbeat), HEARTBEAT_MS);
    socket.on('close', () => clearInterval(timer));
  };
}

/** Like `chunked`, for bytes that may end inside a character. */
function makeChunk(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
}

function readEnd(events: readonly StreamEvent[]) {
  const last = events.at(-1);
  if (last?.type !== 'completion-finish') return { failed: true };
  return { reason: last.reason, usage: events.flatMap((event) => (event.type === 'usage-report' ? [event.usage] : [])) };
}

function shownEnd(expected: ExpectedEnd) {
  return 'failed' in expected ? expected : { reason: expected.reason, usage: [expected.usage] };
}

function readContent(events: readonly StreamEvent[]) {
  const { text, reasoning, calls } = foldEvents(events);
  return { text, reasoning, calls: calls.map((call) => call.text) };
}

function collectPieces({ pieces }: VendorReply) {
  const texts = (type: string): string[] => pieces.flatMap((piece) => (piece.type === type ? [piece.text] : []));
  return { text: texts('text').join(''), reasoning: texts('thinking').join(''), calls: texts('call') };
}

/** Bills as billing does. */
function expectWithinHold(usage: Parameters<typeof computeCost>[0]): void {
  const hold = holdFor({ promptTokensMax: PROMPT_TOKENS_MAX, outputTokensMax: CAPS.outputTokensMax }, PRICE);
  expect(usage.outputTokens).toBeLessThanOrEqual(CAPS.outputTokensMax);
  expect(computeCost(limitPrompt(usage, hold, PRICE), PRICE)).toBeLessThanOrEqual(hold);
}
