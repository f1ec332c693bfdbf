import { HeldBytes, type HeldShare } from './held-bytes.js';

let held: HeldBytes;
let accounts = 0;
const open = (bytes: number, accountId = `account-${accounts++}`): HeldShare => {
  const share = held.open(accountId);
  share.set(bytes);
  return share;
};
const refused = expect.objectContaining({ kind: 'limit', code: 'model_capacity' });

beforeEach(() => {
  held = new HeldBytes(100, 10);
});

test('all replies share the limit, and each has its own part besides', () => {
  open(60);
  open(60);
  expect(() => open(11)).toThrow(refused);
});

test('small replies are never refused', () => {
  open(110);
  expect(() => open(10)).not.toThrow();
});

test('released bytes are free for others, also when a reply shrinks', () => {
  const first = open(110);
  first.set(60);
  const second = open(60);
  expect(() => open(60)).toThrow(refused);
  first.release();
  second.release();
  second.release();
});

test('a refused reply releases its bytes', () => {
  const share = open(60);
  expect(() => share.set(200)).toThrow(refused);
  share.release();
  expect(() => open(110)).not.toThrow();
});

test('the replies of one account leave room for others', () => {
  const shares = Array.from({ length: 10 }, () => open(10, 'greedy'));
  const grow = (): void => {
    for (let bytes = 11; bytes <= 20; bytes++) for (const share of shares) share.set(bytes);
  };
  expect(grow).toThrow(refused);
  expect(() => open(20, 'other')).not.toThrow();
  for (const share of shares) share.release();
  expect(() => open(90, 'greedy')).not.toThrow();
});
