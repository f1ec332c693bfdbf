import { ByteBudget } from './byte-budget.js';

test('serves waiters in order', async () => {
  const budget = new ByteBudget(10);
  const order: string[] = [];
  const take = async (name: string, bytes: number): Promise<void> => {
    await budget.take(bytes);
    order.push(name);
  };
  const all = [take('a', 6), take('b', 6), take('c', 1)];
  await all[0];
  expect(order).toEqual(['a']);
  budget.release(6);
  await Promise.all(all);
  expect(order).toEqual(['a', 'b', 'c']);
});

test('throws above the whole budget', async () => {
  await expect(new ByteBudget(10).take(11)).rejects.toThrow(RangeError);
});
