import { type Admission, AdmissionQueue, type QueueOptions } from './admission-queue.js';

/** A queue for rooms with names; each takes one request. */
function setUp(options: Partial<QueueOptions> = {}) {
  const free: string[] = [];
  const queue = new AdmissionQueue<string>({ queueMax: 9, queueWaitMs: 60_000, ...options }, () => new Error('too late'));
  /** Waits for any room, or for any but one. */
  const wait = (signal = new AbortController().signal, notIn = '', accountId = 'account') => {
    const admit = (): Admission<string> => {
      const at = free.findIndex((room) => room !== notIn);
      return at === -1 ? undefined : { grant: free.splice(at, 1)[0] as string };
    };
    return queue.wait(accountId, admit, notIn !== '', signal);
  };
  const release = (room: string): void => {
    free.push(room);
    queue.serve();
  };
  return { queue, free, wait, release };
}

test('first come, first served', async () => {
  const { queue, wait, release } = setUp();
  const order: string[] = [];
  const all = ['first', 'second', 'third'].map((name) => wait().then((room) => order.push(`${name} in ${room}`)));
  for (const room of ['a', 'b', 'c']) release(room);
  await Promise.all(all);
  expect({ order, size: queue.size }).toEqual({ order: ['first in a', 'second in b', 'third in c'], size: 0 });
});

describe('of several accounts', () => {
  test('each is served in turn, its own requests in order of arrival', async () => {
    const { wait, release } = setUp();
    const order: string[] = [];
    const all = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map((name) => wait(undefined, '', name.charAt(0)).then(() => order.push(name)));
    for (const room of ['1', '2', '3', '4', '5', '6']) release(room);
    await Promise.all(all);
    expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
  });

  test('rooms that become free at once are also given out in turn', async () => {
    const { wait, free, queue } = setUp();
    const order: string[] = [];
    const all = ['a1', 'a2', 'b1', 'b2'].map((name) => wait(undefined, '', name.charAt(0)).then(() => order.push(name)));
    free.push('1', '2', '3', '4');
    queue.serve();
    await Promise.all(all);
    expect(order).toEqual(['a1', 'b1', 'a2', 'b2']);
  });

  test('an account that cannot use what is free does not hold up the others', async () => {
    const { queue, wait, free } = setUp();
    const left = new AbortController();
    const blocked = queue.wait('greedy', () => undefined, false, left.signal);
    const other = wait(undefined, '', 'other');
    free.push('a');
    queue.serve();
    expect([await other, queue.size]).toEqual(['a', 1]);
    left.abort(new Error('left'));
    await expect(blocked).rejects.toThrow('left');
  });

  test('no account can take all places', () => {
    const { queue, wait } = setUp({ queueMax: 100 });
    const left = new AbortController();
    let waiting = 0;
    for (; queue.hasRoom('greedy'); waiting++) void wait(left.signal, '', 'greedy').catch(() => undefined);
    expect([waiting, queue.hasRoom('other')]).toEqual([80, true]);
    left.abort();
  });
});

test('a request that cannot use what has become free does not hold up the next', async () => {
  const { queue, wait, release } = setUp();
  const excluding = wait(undefined, 'a');
  const other = wait();
  release('a');
  expect(await other).toBe('a');
  expect(queue.size).toBe(1);
  release('b');
  expect(await excluding).toBe('b');
});

test('a request whose signal fires leaves the queue', async () => {
  const { queue, wait, release, free } = setUp();
  const leaving = new AbortController();
  const gone = wait(leaving.signal);
  const stays = wait();
  leaving.abort(new Error('left'));
  await expect(gone).rejects.toThrow('left');
  expect(queue.size).toBe(1);
  release('a');
  expect(await stays).toBe('a');
  release('b');
  expect(free).toEqual(['b']);
  await expect(wait(AbortSignal.abort(new Error('aborted before')))).rejects.toThrow('aborted before');
});

test('a request is given up after queueWaitMs', async () => {
  const { queue, wait } = setUp({ queueWaitMs: 20 });
  const waits = [wait(), wait()];
  await expect(Promise.all(waits)).rejects.toThrow('too late');
  expect((await Promise.allSettled(waits)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(queue.size).toBe(0);
});

test('a refusal ends the wait', async () => {
  const { queue } = setUp();
  const waiting = queue.wait('account', () => ({ failure: new Error('refused') }), false, new AbortController().signal);
  queue.serve();
  await expect(waiting).rejects.toThrow('refused');
});

test('a request is served at its deadline if something has become free by time alone', async () => {
  const { wait, free } = setUp({ queueWaitMs: 20 });
  const waiting = wait();
  free.push('a');
  expect(await waiting).toBe('a');
});

test('hasRoom is false when the queue is full', () => {
  const { queue, wait } = setUp({ queueMax: 2 });
  const leaving = new AbortController();
  void wait(leaving.signal).catch(() => {});
  expect(queue.hasRoom('account')).toBe(true);
  void wait(leaving.signal).catch(() => {});
  expect(queue.hasRoom('account')).toBe(false);
  leaving.abort();
  expect([queue.hasRoom('account'), queue.oldestUntil]).toEqual([true, Number.POSITIVE_INFINITY]);
});
