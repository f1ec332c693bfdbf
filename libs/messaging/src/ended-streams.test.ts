import { jest } from '@jest/globals';
import { EndedStreams } from './ended-streams.js';
import { Heartbeat } from './heartbeat.js';
import { Inbox } from './inbox.js';
import { streamAddress } from './inbox-subject.js';
import type { Outbox } from './outbox.js';
import { SentFrames } from './sent-frames.js';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const otherEnd = streamAddress('_INBOX.caller.1.+r1');
const asked = { data: Buffer.from('R0') };

/** Ends streams of one frame each. `kept` returns how many are still sent again. */
function start({ resumeMs = 5_000 } = {}) {
  const sent: Uint8Array[] = [];
  const outbox = { sendStreamed: (_address: unknown, data: Uint8Array) => sent.push(data) } as unknown as Outbox;
  const inbox = new Inbox('_INBOX.test.1', () => undefined);
  const heartbeat = new Heartbeat();
  const ended = new EndedStreams({ inbox, outbox, heartbeat, resumeMs });
  const subjects: string[] = [];
  const end = (frame: string): void => {
    const window = new SentFrames();
    window.add(frame, frame.length);
    subjects.push(`_INBOX.test.1.+w${subjects.length}`);
    ended.keep(subjects.at(-1) ?? '', otherEnd, window);
  };
  const kept = (): number => {
    sent.length = 0;
    for (const subject of subjects) inbox.receive({ ...asked, subject });
    return sent.length;
  };
  return { ended, end, kept };
}

test('keeps the frames of an ended stream for the bound', () => {
  const { end, kept } = start({ resumeMs: 1_000 });
  end('L1\n[1]');
  jest.advanceTimersByTime(750);
  expect(kept()).toBe(1);
  jest.advanceTimersByTime(250);
  expect(kept()).toBe(0);
});

test.each([
  ['4,096 streams', 'L1\n[]', 5_000, 4_096],
  ['16 MiB', `L1\n${'x'.repeat(1024 * 1024 - 3)}`, 20, 16],
])('keeps at most %s, the last ones', (_name, frame, count, most) => {
  const { end, kept } = start();
  for (let index = 0; index < count; index++) end(frame);
  expect(kept()).toBe(most);
});

test('keeps nothing without resumption, or when the connection closes', () => {
  const off = start({ resumeMs: 0 });
  off.end('L1\n[1]');
  const closed = start();
  closed.end('L1\n[1]');
  closed.ended.clear();
  expect([off.kept(), closed.kept()]).toEqual([0, 0]);
});
