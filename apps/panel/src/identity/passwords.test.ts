import { checkNewPassword, isCommonPassword, Passwords } from './passwords.js';

const passwords = new Passwords();

test('verifies the password of a hash, and no other', async () => {
  const stored = await passwords.hash('a quiet orange river');
  expect(stored).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
  expect(await passwords.verify('a quiet orange river', stored)).toBe(true);
  expect(await passwords.verify('a quiet orange rivers', stored)).toBe(false);
});

test('two hashes of one password differ', async () => {
  expect(await passwords.hash('a quiet orange river')).not.toBe(await passwords.hash('a quiet orange river'));
});

test('the same text in another Unicode form is the same password', async () => {
  expect(await passwords.verify('Zo\u0065\u0308 likes cafes', await passwords.hash('Zo\u00eb likes cafes'))).toBe(true);
});

test('without a hash the answer is false', async () => {
  expect(await passwords.verify('a quiet orange river', undefined)).toBe(false);
});

test('sign-ins beyond those that can wait are refused at once', async () => {
  const busy = new Passwords();
  const outcomes = await Promise.allSettled(Array.from({ length: 70 }, () => busy.hash('x')));
  const refused = outcomes.filter(({ status }) => status === 'rejected');
  expect(refused).toHaveLength(70 - 2 - 64);
  expect(refused[0]).toMatchObject({ reason: { code: 'rate_limit_exceeded', retryAfterSeconds: 5 } });
});

test.each([
  ['eleven char', 'password must have at least 12 characters'],
  ['🔑'.repeat(11), 'password must have at least 12 characters'],
  ['x1'.repeat(129), 'password must have at most 256 characters'],
  ['Password2027!', 'password is among the first that an attacker tries; choose another'],
  ['Ada@Example.com', 'password is among the first that an attacker tries; choose another'],
])('%s is refused', (password, message) => {
  expect(() => checkNewPassword(password, 'ada@example.com')).toThrow(message);
});

test.each(['correct staple horse battery', 'Tr0ubad0ur & three', 'ein ruhiger Fluss', '🔑🔑🔑 keys to the door', 'summer rain in june'])(
  '%s is accepted',
  (password) => {
    expect(() => checkNewPassword(password, 'ada@example.com')).not.toThrow();
  },
);

test.each(['p@ssw0rd2024!', '123456789012', 'abcabcabcabc', 'qwertyuiop12', 'aaaaaaaaaaaa', '2024-letmein-', 'Welcome!12345'])(
  '%s is common',
  (password) => expect(isCommonPassword(password)).toBe(true),
);

test.each(['ILoveJessica1', 'monkeydragon', 'SummerMonday2027', 'Liverp00lManchester'])(
  '%s is common: it has two common words and nothing else',
  (password) => expect(isCommonPassword(password)).toBe(true),
);

test.each(['ilovejessicatoo', 'monkey-dragon-keyhole', 'summermondayrain'])('%s is not common: it has more than two words', (password) =>
  expect(isCommonPassword(password)).toBe(false),
);
