import { JoinedReads } from './joined-reads.js';

/** Records reads in order; the test answers them. */
function setUp() {
  const sent: { name: string; answer: PromiseWithResolvers<number> }[] = [];
  const reads = new JoinedReads<number>((name) => {
    const answer = Promise.withResolvers<number>();
    sent.push({ name, answer });
    return answer.promise;
  });
  return { reads, sent, names: () => sent.map(({ name }) => name) };
}

test('one read is in flight and one waits, however many callers there are [limit-free-rate]', async () => {
  const { reads, sent } = setUp();
  const first = reads.get('a');
  const joined = [reads.get('a'), reads.get('a'), reads.get('a')];
  expect(sent.length).toBe(1);
  sent[0]?.answer.resolve(1);
  expect(await first).toBe(1);
  sent[1]?.answer.resolve(2);
  expect([await Promise.all(joined), sent.length]).toEqual([[2, 2, 2], 2]);
});

test('no caller gets the result of a read that was sent before it called', async () => {
  const { reads, sent } = setUp();
  const got: string[] = [];
  for (let call = 0; call < 5; call++) {
    const sentBefore = sent.length;
    void reads.get('a').then((read) => got.push(`call ${call}: ${read >= sentBefore}`));
    sent[call]?.answer.resolve(call);
    await new Promise(setImmediate);
  }
  sent.at(-1)?.answer.resolve(sent.length - 1);
  await new Promise(setImmediate);
  expect(got).toEqual([0, 1, 2, 3, 4].map((call) => `call ${call}: true`));
});

test('names do not wait for each other', () => {
  const { reads, names } = setUp();
  void reads.get('a');
  void reads.get('b');
  expect(names()).toEqual(['a', 'b']);
});

test('a failed read fails only its own callers', async () => {
  const { reads, sent } = setUp();
  const first = reads.get('a');
  const second = reads.get('a');
  sent[0]?.answer.reject(new Error('away'));
  await expect(first).rejects.toThrow('away');
  sent[1]?.answer.resolve(2);
  expect(await second).toBe(2);
  void reads.get('a');
  expect(sent.length).toBe(3);
});
