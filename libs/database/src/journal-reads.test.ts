import { JournalReads, OPERATOR } from './journal-reads.js';

/** Reads that run until the test ends them. */
class Reading {
  /** Names of the reads that began, in order. */
  readonly begun: string[] = [];
  private readonly ends = new Map<string, (() => void)[]>();
  readonly reads: JournalReads;

  constructor(options: Partial<ConstructorParameters<typeof JournalReads>[1]> = {}) {
    this.reads = new JournalReads({} as never, { runningMax: 6, shareMax: 2, ...options });
  }

  ask(reader: string, question: string): Promise<string> {
    return this.reads.read(reader, [question], async () => {
      this.begun.push(`${reader} ${question}`);
      await new Promise<void>((resolve) => this.ends.set(question, [...(this.ends.get(question) ?? []), resolve]));
      return question;
    });
  }

  /** Asks for a read whose reply does not matter. */
  begin(reader: string, question: string): void {
    this.ask(reader, question).catch(() => undefined);
  }

  async end(question: string): Promise<void> {
    this.ends.get(question)?.shift()?.();
    await new Promise(setImmediate);
  }
}

const outcome = (asked: Promise<unknown>): Promise<unknown> =>
  asked.then(
    (value) => value,
    ({ code }) => code,
  );

test('an account has two reads at once; those of others begin beside them, and the next when one ends', async () => {
  const reading = new Reading();
  const asked = ['1', '2', '3'].map((question) => reading.ask('a', question));
  reading.begin('b', '4');
  expect(reading.begun).toEqual(['a 1', 'a 2', 'b 4']);
  await reading.end('1');
  expect([await asked[0], reading.begun.at(-1)]).toEqual(['1', 'a 3']);
});

test('all accounts together leave places to the operator, and it leaves some to them', () => {
  const reading = new Reading();
  for (const account of ['a', 'b', 'c']) for (const question of ['1', '2']) reading.begin(account, account + question);
  expect(reading.begun).toHaveLength(4);
  for (const question of ['1', '2', '3']) reading.begin(OPERATOR, question);
  expect(reading.begun.slice(4)).toEqual(['operator 1', 'operator 2']);
  const other = new Reading();
  for (const question of ['1', '2', '3', '4', '5']) other.begin(OPERATOR, question);
  other.begin('a', '6');
  expect(other.begun).toEqual(['operator 1', 'operator 2', 'operator 3', 'operator 4', 'a 6']);
});

test('accounts that wait take turns, however many reads one of them has', async () => {
  const reading = new Reading({ runningMax: 3, shareMax: 1 });
  reading.begin('a', 'a1');
  reading.begin('b', 'b1');
  for (const question of ['a2', 'a3', 'a4']) reading.begin('a', question);
  reading.begin('c', 'c1');
  await reading.end('a1');
  await reading.end('b1');
  expect(reading.begun).toEqual(['a a1', 'b b1', 'a a2', 'c c1']);
});

test('identical reads are joined, but not to one that has begun: no reply is older than its request', async () => {
  const reading = new Reading();
  const asked = Array.from({ length: 40 }, () => reading.ask('a', 'same'));
  expect(reading.begun).toEqual(['a same']);
  await reading.end('same');
  await reading.end('same');
  expect([await Promise.all(asked), reading.begun]).toEqual([Array(40).fill('same'), ['a same', 'a same']]);
});

test('the same question of another reader is a read of its own', () => {
  const reading = new Reading();
  reading.begin('a', 'same');
  reading.begin(OPERATOR, 'same');
  expect(reading.begun).toEqual(['a same', 'operator same']);
});

test('an account whose reads wait for its own has too many, beyond a number or a time', async () => {
  const reading = new Reading({ waitMs: 20 });
  const asked = Array.from({ length: 2 + 16 + 1 }, (_, at) => outcome(reading.ask('a', String(at))));
  expect(await Promise.all(asked.slice(2))).toEqual(Array(17).fill('rate_limit_exceeded'));
  expect(reading.begun).toHaveLength(2);
});

test('a read that finds no place because of others is unavailable', async () => {
  const reading = new Reading({ waitMs: 20 });
  for (const account of ['a', 'b']) for (const question of ['1', '2']) reading.begin(account, account + question);
  expect(await outcome(reading.ask('c', '1'))).toBe('unavailable');
});

test('a read that fails gives its place back', async () => {
  const { reads } = new Reading({ runningMax: 3, shareMax: 1 });
  const failing = () => outcome(reads.read('a', ['x'], () => Promise.reject({ code: 'failed' })));
  expect([await failing(), await failing()]).toEqual(['failed', 'failed']);
});
