import { PanelError } from '../errors/panel-error.js';
import { SignInBlock } from './throttle.js';

const ADA = 'ada@example.com';
const BOB = 'bob@example.com';
const NOW = 1_000_000;
const block = () => new SignInBlock(NOW + 600_000, [ADA, BOB]);

/** Returns the wait in milliseconds, or after how many seconds a refused sign-in may come back. */
function take(of: SignInBlock, email: string | undefined, now = NOW): number | { after: number | undefined } {
  try {
    return of.waitForTurn(email, now);
  } catch (error) {
    if (!(error instanceof PanelError)) throw error;
    return { after: error.retryAfterSeconds };
  }
}

test('each guess doubles the wait of the next, up to 30 s [sec-lockout]', () => {
  const delayed = block();
  let now = NOW;
  const waits = Array.from({ length: 7 }, () => {
    const wait = take(delayed, ADA, now);
    now += Number(wait);
    return wait;
  });
  expect(waits).toEqual([2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
});

test('guesses at once wait one after another, and none longer than 30 s [sec-lockout]', () => {
  const delayed = block();
  expect(Array.from({ length: 5 }, () => take(delayed, ADA))).toEqual([2_000, 6_000, 14_000, 30_000, { after: 30 }]);
  expect([take(delayed, ADA, NOW + 29_999), take(delayed, ADA, NOW + 30_000)]).toEqual([{ after: 1 }, 30_000]);
});

test('a right password ends the wait of its person alone [sec-lockout]', () => {
  const delayed = block();
  for (const person of [ADA, ADA, BOB]) take(delayed, person);
  delayed.reset(ADA);
  expect([take(delayed, ADA), take(delayed, BOB)]).toEqual([2_000, 6_000]);
});

test('a right password of a stranger lets them in no second time', () => {
  const delayed = block();
  delayed.reset('eve@example.com');
  expect(take(delayed, 'eve@example.com')).toEqual({ after: 600 });
});

test('people whom a provider is to name wait 2 s each: they have guessed nothing', () => {
  const delayed = block();
  expect(Array.from({ length: 3 }, () => take(delayed, undefined))).toEqual([2_000, 4_000, 6_000]);
  expect(take(new SignInBlock(NOW + 600_000, []), undefined)).toEqual({ after: 600 });
});
