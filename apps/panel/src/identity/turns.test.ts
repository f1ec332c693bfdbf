import { Turns } from './turns.js';

/** Begins work that ends when the function that it returns is called. */
function begin(turns: Turns, where: string, log: string[] = []): { done: Promise<void>; end: () => void } {
  const gate = Promise.withResolvers<void>();
  const done = turns.run(where, () => {
    log.push(where);
    return gate.promise;
  });
  return { done, end: gate.resolve };
}

test('two of an address work at a time, and others do not wait for its further ones', async () => {
  const [turns, log] = [new Turns(), [] as string[]];
  const [first, second, third, other] = ['a', 'a', 'a', 'b'].map((where) => begin(turns, where, log));
  expect(log).toEqual(['a', 'a', 'b']);
  first?.end();
  await first?.done;
  expect(log).toEqual(['a', 'a', 'b', 'a']);
  for (const one of [second, third, other]) one?.end();
  await Promise.all([second?.done, third?.done, other?.done]);
});

test('four work at a time, whatever their addresses', async () => {
  const [turns, log] = [new Turns(), [] as string[]];
  const all = ['a', 'b', 'c', 'd', 'e'].map((where) => begin(turns, where, log));
  expect(log).toEqual(['a', 'b', 'c', 'd']);
  for (const one of all) one.end();
  await Promise.all(all.map(({ done }) => done));
  expect(log).toEqual(['a', 'b', 'c', 'd', 'e']);
});

test('sixteen of an address wait, and the next is refused at once; one of another address is not', async () => {
  const turns = new Turns();
  const all = Array.from({ length: 18 }, () => begin(turns, 'a'));
  await expect(begin(turns, 'a').done).rejects.toMatchObject({ code: 'rate_limit_exceeded', retryAfterSeconds: 5 });
  const other = begin(turns, 'b');
  for (const one of [...all, other]) one.end();
  await Promise.all([...all, other].map(({ done }) => done));
});

test('a failure makes room', async () => {
  const turns = new Turns();
  for (let round = 0; round < 5; round++) await expect(turns.run('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  await expect(turns.run('a', () => Promise.resolve('yes'))).resolves.toBe('yes');
});
