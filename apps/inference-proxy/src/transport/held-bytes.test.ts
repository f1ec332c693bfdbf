import { HeldBytes, type HeldShare } from './held-bytes.js';

let held: HeldBytes;
const open = (bytes: number): HeldShare => {
  const share = held.open();
  share.set(bytes);
  return share;
};
const refused = expect.objectContaining({ kind: 'limit', code: 'model_capacity' });

beforeEach(() => {
  held = new HeldBytes(100, 10);
});

test('together they have the bound, and each its own part besides', () => {
  open(60);
  open(60);
  expect(() => open(11)).toThrow(refused);
});

test('what is small is taken, however full it is', () => {
  open(110);
  expect(() => open(10)).not.toThrow();
});

test('what is held no more is free for others: when less of it is left, and at its end', () => {
  const first = open(110);
  first.set(60);
  const second = open(60);
  expect(() => open(60)).toThrow(refused);
  first.release();
  second.release();
  second.release();
});

test('one that was refused gives back what it had', () => {
  const share = open(60);
  expect(() => share.set(200)).toThrow(refused);
  share.release();
  expect(() => open(110)).not.toThrow();
});
