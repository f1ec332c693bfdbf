import { LookupQueue } from './lookup-queue.js';

function setUp(waitingMax = 10) {
  const queue = new LookupQueue({ inFlightMax: 3, suspectsInFlightMax: 1, waitingMax });
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const look = (name: string, isSuspect = false): Promise<void> =>
    queue.run(isSuspect, () => {
      started.push(name);
      return new Promise((resolve) => ends.set(name, resolve));
    });
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await new Promise(setImmediate);
  };
  return { look, end, started };
}

test('look-ups beyond the limit wait, and suspects are served last', async () => {
  const { look, end, started } = setUp();
  void look('suspect 1', true);
  void look('suspect 2', true);
  for (const name of ['a', 'b', 'c', 'd']) void look(name);
  expect(started).toEqual(['suspect 1', 'a', 'b']);
  for (const name of ['a', 'suspect 1', 'b', 'c']) await end(name);
  expect(started).toEqual(['suspect 1', 'a', 'b', 'c', 'd', 'suspect 2']);
});

test('suspects never take all slots', async () => {
  const { look, end, started } = setUp();
  for (let number = 1; number <= 5; number++) void look(`suspect ${number}`, true);
  await end('suspect 1');
  void look('a');
  expect(started).toEqual(['suspect 1', 'suspect 2', 'a']);
});

test('a full queue refuses with a retry time [limit-key-lookups]', async () => {
  const { look } = setUp(1);
  void look('suspect 1', true);
  void look('suspect 2', true);
  await expect(look('suspect 3', true)).rejects.toMatchObject({ code: 'model_unavailable', retryAfterSeconds: 1 });
});

test('a failed look-up frees its slot', async () => {
  const queue = new LookupQueue({ inFlightMax: 1, suspectsInFlightMax: 1, waitingMax: 1 });
  const failed = queue.run(false, () => Promise.reject(new Error('away')));
  const next = queue.run(false, () => Promise.resolve('found'));
  await expect(failed).rejects.toThrow('away');
  expect(await next).toBe('found');
});
