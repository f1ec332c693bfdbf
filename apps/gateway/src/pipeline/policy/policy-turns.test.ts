import { PolicyTurns } from './policy-turns.js';

const LIMITS = { projectCallsMax: 2, accountBytesMax: 100, bytesMax: 150 };
const NEVER = new AbortController().signal;
const owner = (projectId: string, accountId = `account of ${projectId}`) => ({ projectId, accountId });

/** Takes turns, and lists in their order those that have begun. */
class Taker {
  readonly begun: string[] = [];
  private readonly ends = new Map<string, () => void>();

  constructor(readonly turns = new PolicyTurns(LIMITS)) {}

  take(name: string, of: { projectId: string; accountId: string }, bytes = 1, signal = NEVER): Promise<boolean> {
    return this.turns.take(of, bytes, signal).then((end) => {
      if (end === undefined) return false;
      this.begun.push(name);
      this.ends.set(name, end);
      return true;
    });
  }

  async end(name: string): Promise<void> {
    this.ends.get(name)?.();
    await settled();
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a project has so many questions at once; the next waits, and others do not', async () => {
  const taker = new Taker();
  for (const name of ['one', 'two', 'three']) void taker.take(name, owner('a'));
  void taker.take('other', owner('b'));
  await settled();
  expect({ begun: taker.begun, waiting: taker.turns.waiting }).toEqual({ begun: ['one', 'two', 'other'], waiting: 1 });
  await taker.end('two');
  expect(taker.begun).toEqual(['one', 'two', 'other', 'three']);
});

test('the projects of an account share its bytes; another account has its own', async () => {
  const taker = new Taker();
  void taker.take('large', owner('a1', 'a'), 90);
  void taker.take('waits', owner('a2', 'a'), 20);
  void taker.take('other', owner('b'), 60);
  await settled();
  expect(taker.begun).toEqual(['large', 'other']);
  await taker.end('large');
  expect(taker.begun).toEqual(['large', 'other', 'waits']);
});

test('a question above all shares runs alone', async () => {
  const taker = new Taker();
  void taker.take('small', owner('a'), 1);
  void taker.take('huge', owner('b'), 1_000);
  await settled();
  expect(taker.begun).toEqual(['small']);
  await taker.end('small');
  expect(taker.begun).toEqual(['small', 'huge']);
});

test('projects take turns', async () => {
  const taker = new Taker(new PolicyTurns({ ...LIMITS, bytesMax: 100 }));
  void taker.take('first', owner('a'), 100);
  for (const name of ['a1', 'a2']) void taker.take(name, owner('a'), 100);
  void taker.take('b1', owner('b'), 100);
  await settled();
  for (const name of ['first', 'a1', 'b1', 'a2']) await taker.end(name);
  expect(taker.begun).toEqual(['first', 'a1', 'b1', 'a2']);
});

test('a question that is stopped while it waits gets no turn, and the next one does', async () => {
  const taker = new Taker();
  const stop = new AbortController();
  void taker.take('one', owner('a'), 80);
  const stopped = taker.take('stopped', owner('a'), 50, stop.signal);
  void taker.take('small', owner('a'), 10);
  await settled();
  stop.abort();
  expect(await stopped).toBe(false);
  await settled();
  expect(taker.begun).toEqual(['one', 'small']);
});

test('a signal that has aborted gets no turn', async () => {
  expect(await new Taker().take('late', owner('a'), 1, AbortSignal.abort())).toBe(false);
});

test('projects whose questions have ended take no memory', async () => {
  const taker = new Taker();
  await taker.take('one', owner('a'));
  await taker.take('late', owner('b'), 1, AbortSignal.abort());
  await taker.end('one');
  expect({ ...taker.turns }).toMatchObject({ lines: new Map(), bytesByAccount: new Map(), bytes: 0 });
});
