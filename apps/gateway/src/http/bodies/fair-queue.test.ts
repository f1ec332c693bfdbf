import { FairQueue, type WorkOwner } from './fair-queue.js';

interface Work {
  name: string;
  owner: WorkOwner;
}

const work = (name: string, accountId: string, keyId = name): Work => ({ name, owner: { accountId, keyId } });

function makeQueue(...pieces: Work[]): FairQueue<Work> {
  const queue = new FairQueue<Work>();
  for (const piece of pieces) queue.add(piece);
  return queue;
}

test('accounts are served in rotation, however much work one of them has [limit-stall]', () => {
  const queue = makeQueue(work('a1', 'a'), work('a2', 'a'), work('a3', 'a'), work('b1', 'b'), work('c1', 'c'), work('b2', 'b'));
  const names = Array.from({ length: 6 }, () => queue.take()?.name);
  expect(names).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
  expect([queue.take(), queue.length]).toEqual([undefined, 0]);
});

test('one piece of work of a key runs at a time, and the others keep their order', () => {
  const [first, second, other] = [work('1', 'a', 'key'), work('2', 'a', 'key'), work('3', 'a', 'another')];
  const queue = makeQueue(first, second, other);
  expect([queue.take(), queue.take(), queue.take()]).toEqual([first, other, undefined]);
  queue.done(first);
  expect(queue.take()).toBe(second);
});

test('a busy key does not delay another account', () => {
  const queue = makeQueue(work('a1', 'a', 'key'), work('a2', 'a', 'key'), work('b1', 'b'));
  expect([queue.take()?.name, queue.take()?.name, queue.take()]).toEqual(['a1', 'b1', undefined]);
});

test('removed work is not taken', () => {
  const [first, second] = [work('1', 'a'), work('2', 'a')];
  const queue = makeQueue(first, second);
  expect([queue.remove(first), queue.remove(first), queue.length]).toEqual([true, false, 1]);
  expect([queue.take(), queue.take(), queue.remove(second)]).toEqual([second, undefined, false]);
});
