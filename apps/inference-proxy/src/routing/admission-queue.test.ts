import { AdmissionQueue, type Turn } from './admission-queue.js';

/** A line for rooms with names; each takes one. */
function setUp(terms: Partial<{ queueMax: number; queueWaitMs: number }> = {}, nextChangeMs = Number.POSITIVE_INFINITY) {
  const free: string[] = [];
  const line = new AdmissionQueue<string>(
    { queueMax: 9, queueWaitMs: 60_000, ...terms },
    () => new Error('too late'),
    () => nextChangeMs,
  );
  /** Waits for any room, or for any but one. */
  const wait = (signal = new AbortController().signal, notIn = '', accountId = 'account') => {
    const tryTurn = (): Turn<string> => {
      const at = free.findIndex((room) => room !== notIn);
      return at === -1 ? undefined : { grant: free.splice(at, 1)[0] as string };
    };
    return line.wait(accountId, tryTurn, notIn !== '', signal);
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

describe('of several accounts', () => {
  test('each is served in turn, its own requests in the order they came', async () => {
    const { wait, release } = setUp();
    const order: string[] = [];
    const all = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map((name) => wait(undefined, '', name.charAt(0)).then(() => order.push(name)));
    for (const room of ['1', '2', '3', '4', '5', '6']) release(room);
    await Promise.all(all);
    expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
  });

  test('all that become free at once are dealt out in turn, too', async () => {
    const { wait, free, line } = setUp();
    const order: string[] = [];
    const all = ['a1', 'a2', 'b1', 'b2'].map((name) => wait(undefined, '', name.charAt(0)).then(() => order.push(name)));
    free.push('1', '2', '3', '4');
    line.serve();
    await Promise.all(all);
    expect(order).toEqual(['a1', 'b1', 'a2', 'b2']);
  });

  test('one that can use nothing of what is free does not keep the others waiting', async () => {
    const { line, wait, free } = setUp();
    const left = new AbortController();
    const blocked = line.wait('greedy', () => undefined, false, left.signal);
    const other = wait(undefined, '', 'other');
    free.push('a');
    line.serve();
    expect([await other, line.size]).toEqual(['a', 1]);
    left.abort(new Error('left'));
    await expect(blocked).rejects.toThrow('left');
  });

  test('one leaves places for the others', () => {
    const { line, wait } = setUp({ queueMax: 100 });
    const left = new AbortController();
    let waiting = 0;
    for (; line.hasRoomFor('greedy'); waiting++) void wait(left.signal, '', 'greedy').catch(() => undefined);
    expect([waiting, line.hasRoomFor('other')]).toEqual([80, true]);
    left.abort();
  });
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
  const waiting = line.wait('account', () => ({ refusal: new Error('all are down') }), false, new AbortController().signal);
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
  expect(line.hasRoomFor('account')).toBe(true);
  void wait(leaving.signal).catch(() => {});
  expect(line.hasRoomFor('account')).toBe(false);
  leaving.abort();
  expect([line.hasRoomFor('account'), line.oldestUntil]).toEqual([true, Number.POSITIVE_INFINITY]);
});
