import { ByteBudget } from './byte-budget.js';

test('lets in what fits, first come, first served', async () => {
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

test('refuses what could never fit', async () => {
  await expect(new ByteBudget(10).take(11)).rejects.toThrow(RangeError);
});
