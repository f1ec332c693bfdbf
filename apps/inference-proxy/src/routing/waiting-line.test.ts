import { type Turn, WaitingLine } from './waiting-line.js';

/** A line for rooms with names; each takes one. */
function setUp(terms: Partial<{ queueMax: number; queueWaitMs: number }> = {}, nextChangeMs = Number.POSITIVE_INFINITY) {
  const free: string[] = [];
  const line = new WaitingLine<string>(
    { queueMax: 9, queueWaitMs: 60_000, ...terms },
    () => new Error('too late'),
    () => nextChangeMs,
  );
  /** Waits for any room, or for any but one. */
  const wait = (signal = new AbortController().signal, notIn = '') => {
    const tryTurn = (): Turn<string> => {
      const at = free.findIndex((room) => room !== notIn);
      return at === -1 ? undefined : { grant: free.splice(at, 1)[0] as string };
    };
    return line.wait(tryTurn, notIn !== '', signal);
  };
  const release = (room: string): void => {
    free.push(room);
    line.serve();
  };
  return { line, free, wait, release };
}

test('first come, first served', async () => {
  const { line, wait, release } = setUp();
  const order: string[] = [];
  const all = ['first', 'second', 'third'].map((name) => wait().then((room) => order.push(`${name} in ${room}`)));
  for (const room of ['a', 'b', 'c']) release(room);
  await Promise.all(all);
  expect({ order, size: line.size }).toEqual({ order: ['first in a', 'second in b', 'third in c'], size: 0 });
});

test('whoever cannot use what has become free keeps nobody waiting', async () => {
  const { line, wait, release } = setUp();
  const choosy = wait(undefined, 'a');
  const other = wait();
  release('a');
  expect(await other).toBe('a');
  expect(line.size).toBe(1);
  release('b');
  expect(await choosy).toBe('b');
});

test('a reader that leaves loses its place', async () => {
  const { line, wait, release, free } = setUp();
  const leaving = new AbortController();
  const gone = wait(leaving.signal);
  const stays = wait();
  leaving.abort(new Error('left'));
  await expect(gone).rejects.toThrow('left');
  expect(line.size).toBe(1);
  release('a');
  expect(await stays).toBe('a');
  release('b');
  expect(free).toEqual(['b']);
  await expect(wait(AbortSignal.abort(new Error('was never there')))).rejects.toThrow('was never there');
});

test('nobody waits longer than the limit', async () => {
  const { line, wait } = setUp({ queueWaitMs: 20 });
  const waits = [wait(), wait()];
  await expect(Promise.all(waits)).rejects.toThrow('too late');
  expect((await Promise.allSettled(waits)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(line.size).toBe(0);
});

test('a turn can end the waiting', async () => {
  const { line } = setUp();
  const waiting = line.wait(() => ({ refusal: new Error('all are down') }), false, new AbortController().signal);
  line.serve();
  await expect(waiting).rejects.toThrow('all are down');
});

test('what changes with time alone is served, too', async () => {
  const { wait, free } = setUp({}, 10);
  const waiting = wait();
  free.push('a');
  expect(await waiting).toBe('a');
});

test('it says when it is full', () => {
  const { line, wait } = setUp({ queueMax: 2 });
  const leaving = new AbortController();
  void wait(leaving.signal).catch(() => {});
  expect(line.isFull).toBe(false);
  void wait(leaving.signal).catch(() => {});
  expect(line.isFull).toBe(true);
  leaving.abort();
  expect([line.isFull, line.oldestUntil]).toEqual([false, Number.POSITIVE_INFINITY]);
});
