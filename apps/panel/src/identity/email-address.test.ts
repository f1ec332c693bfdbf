import { parseEmail } from './email-address.js';

test.each<[text: string, email: string | undefined]>([
  [' Ada@Example.COM ', 'ada@example.com'],
  ['zoë@example.com', 'zoë@example.com'],
  ['bo\u212A@example.com', undefined],
  ['BO\u212A@example.com', undefined],
  ['ada@example.\u0130com', undefined],
  ['ada', undefined],
  ['ada@', undefined],
  ['a da@example.com', undefined],
])('%j is the e-mail address %j', (text, email) => {
  expect(parseEmail(text)).toBe(email);
});
