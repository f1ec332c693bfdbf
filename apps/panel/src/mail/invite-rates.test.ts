import { InviteRates } from './invite-rates.js';

const ACME = '0190a6f0-7c1e-7000-8000-00000000000a';
const OTHER = '0190a6f0-7c1e-7000-8000-00000000000f';

let now: number;
let rates: InviteRates;
beforeEach(() => {
  now = 0;
  rates = new InviteRates(() => now);
});

/** Counts invites until one is refused, at most 100. Returns how many were not, and the refusal. */
function countAll(person: string, accountId: string | null): { mailed: number; refusal: unknown } {
  for (let mailed = 0; mailed < 100; mailed++) {
    try {
      rates.count(person, accountId);
    } catch (error) {
      const { code, message, retryAfterSeconds } = error as Record<string, unknown>;
      return { mailed, refusal: { code, message, retryAfterSeconds } };
    }
  }
  return { mailed: 100, refusal: undefined };
}

test('a person mails 30 invites at once, and then one every two minutes', () => {
  expect(countAll('ann', ACME)).toEqual({
    mailed: 30,
    refusal: {
      code: 'rate_limit_exceeded',
      message: 'You have mailed 30 invites, the most in an hour. Try again in 120 s.',
      retryAfterSeconds: 120,
    },
  });
  now += 120_000;
  expect(countAll('ann', ACME).mailed).toBe(1);
});

test('the people of an account mail 60 together, and no other account notices', () => {
  const [ann, bob, cid] = ['ann', 'bob', 'cid'].map((person) => countAll(person, ACME));
  expect([ann?.mailed, bob?.mailed, cid]).toEqual([
    30,
    30,
    {
      mailed: 0,
      refusal: {
        code: 'rate_limit_exceeded',
        message: 'People of this account have mailed 60 invites, the most in an hour. Try again in 60 s.',
        retryAfterSeconds: 60,
      },
    },
  ]);
  expect(countAll('eve', OTHER).mailed).toBe(30);
});

test('a person who is refused takes nothing from the account', () => {
  for (let round = 0; round < 3; round++) countAll('ann', ACME);
  expect(countAll('bob', ACME).mailed).toBe(30);
});

test('invites to the platform count by person alone', () => {
  expect(['ann', 'bob', 'cid'].map((person) => countAll(person, null).mailed)).toEqual([30, 30, 30]);
});
