import { setImmediate as turn } from 'node:timers/promises';
import { UPSTREAM_KINDS } from '#contracts/catalog.js';
import { estimateOutputTokens } from '#inference/estimate-tokens.js';
import type { StreamEvent } from '#inference/stream-event.js';
import { bytesUntilUsage, CONTENT, DIALECT_STREAMS } from '#testing/dialect-streams.js';
import { chunked, type Fault, FaultServer, LAST_CHUNK, replyHead, send, wholeReply } from '#testing/fault-server.js';
import { TRANSPORT_KINDS } from '../../test/transport-kinds.js';
import { TestCalls, upstreamAt } from '../../test/upstream-calls.js';
import { failure, GOOD, received } from '../../test/upstream-faults.js';

/**
 * Loses the connection at every byte of a reply, head included, by FIN or RST: received content is returned and
 * billed by estimate, and only a complete reply ends well. In `npm test` the dialects beside `TRANSPORT_KINDS` lose streams by FIN alone.
 * test/e2e/every-byte.test.ts does the same through all processes.
 */
const TEXTS = ['Good mor', 'ning, wörld 🌍', '! It is a', ' fine day'];
const AT_ONCE = 8;

let raw: Buffer;
let lose: (socket: Parameters<Fault>[0]['socket'], at: number) => Promise<void>;

const server = await FaultServer.start(({ socket, body }) => lose(socket, Number(/cut at (\d+)/.exec(body)?.[1])));
afterAll(() => server.stop());

const ends: [string, typeof lose][] = [
  ['closed', async (socket, at) => void socket.end(raw.subarray(0, at))],
  [
    'reset',
    async (socket, at) => {
      await send(socket, raw.subarray(0, at));
      await turn(); // a reset discards unsent bytes
      socket.resetAndDestroy();
    },
  ],
];

describe.each(UPSTREAM_KINDS)('%s', (kind) => {
  const { opening, text, ending, plain } = DIALECT_STREAMS[kind];

  const isTransport = TRANSPORT_KINDS.includes(kind);

  describe.each(isTransport ? ends : ends.slice(0, 1))('%s [fault-lost]', (_end, how) => {
    test('within a stream', async () => {
      lose = how;
      raw = Buffer.from(replyHead() + chunked(opening, ...TEXTS.map(text), ending) + LAST_CHUNK);
      // With its finish and its usage a reply is whole, whatever becomes of the connection.
      await atEveryByte(true, bytesUntilUsage(raw), (events) => {
        const said = events[0]?.type === 'text-delta' ? events[0].text : '';
        const isBeginning = TEXTS.join('').startsWith(said);
        const expected: StreamEvent[] = said === '' ? [] : [{ type: 'text-delta', text: said }, received(countTokens(said))];
        return isBeginning ? [...expected, failure('upstream_error')] : [];
      });
    });

    if (isTransport) {
      test('within a plain reply', async () => {
        lose = how;
        raw = Buffer.from(wholeReply(plain(CONTENT)));
        await atEveryByte(false, raw.length, () => [failure('upstream_error')]);
      });
    }
  });

  /** `wholeAt`: the reply is complete from this byte on. */
  async function atEveryByte(
    stream: boolean,
    wholeAt: number,
    whatFails: (events: StreamEvent[], at: number) => StreamEvent[],
  ): Promise<void> {
    const calls = new TestCalls(upstreamAt(`http://127.0.0.1:${server.port}/v1`, { kind }));
    const whole = stream ? [{ type: 'text-delta', text: TEXTS.join('') }, ...GOOD.slice(1)] : GOOD;
    const bytes = Array(raw.length).keys();
    const ask = async (): Promise<void> => {
      for (const at of bytes) {
        const turns = [{ role: 'user' as const, parts: [{ type: 'text' as const, text: `cut at ${at}` }] }];
        const events = await calls.collect({ request: { stream, turns } });
        expect({ at, events }).toEqual({ at, events: at < wholeAt ? whatFails(events, at) : whole });
      }
    };
    try {
      await Promise.all(Array.from({ length: AT_ONCE }, ask));
    } finally {
      await calls.close();
    }
  }
});

function countTokens(text: string): number {
  return estimateOutputTokens(Buffer.byteLength(text));
}
