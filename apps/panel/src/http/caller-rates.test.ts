import { CallerRates } from './caller-rates.js';

const RATE = 10;

/** Counts until a request is refused. Returns the number before, and the refusal. */
function exhaust(count: () => void): [number, unknown] {
  for (let passed = 0; ; passed++) {
    try {
      count();
    } catch (error) {
      return [passed, error];
    }
  }
}

const REFUSAL = expect.objectContaining({ code: 'rate_limit_exceeded', retryAfterSeconds: 1 });

test('a person over the rate is refused with all their credentials, and no other person is [sec-panel-shares]', () => {
  let now = 0;
  const rates = new CallerRates(RATE, () => now);
  expect(exhaust(() => rates.countPerson('ada'))).toEqual([50, REFUSAL]);
  rates.countPerson('bob');
  now = 100;
  expect(exhaust(() => rates.countPerson('ada'))).toEqual([1, REFUSAL]);
});

test('a credential over the rate is refused before it is looked up', () => {
  const rates = new CallerRates(RATE, () => 0);
  expect(exhaust(() => rates.countCredential('a secret'))).toEqual([50, REFUSAL]);
  rates.countCredential('another secret');
});
