import { PERSON_READS_MAX, PERSON_WAITING_MAX, PersonReads } from './person-reads.js';

const outcome = (entering: Promise<unknown>): Promise<unknown> =>
  entering.then(
    () => 'entered',
    ({ code, retryAfterSeconds }) => [code, retryAfterSeconds],
  );
const REFUSED = ['rate_limit_exceeded', 1];

test('a person has two reads at once, and sixteen wait; another person does not', async () => {
  const reads = new PersonReads();
  const all = Array.from({ length: PERSON_READS_MAX + PERSON_WAITING_MAX + 1 }, () => reads.enter('one'));
  expect([await outcome(all.at(-1) as Promise<unknown>), await outcome(reads.enter('two'))]).toEqual([REFUSED, 'entered']);
  for (const entering of all.slice(0, -1)) (await entering)();
  expect(await outcome(reads.enter('one'))).toBe('entered');
});

test('a read that waits for too long is refused, and takes no place afterwards', async () => {
  const reads = new PersonReads(10);
  const leave = [await reads.enter('one'), await reads.enter('one')];
  expect(await outcome(reads.enter('one'))).toEqual(REFUSED);
  for (const one of leave) one();
  expect([await outcome(reads.enter('one')), await outcome(reads.enter('one'))]).toEqual(['entered', 'entered']);
});
