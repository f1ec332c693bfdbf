import { Histogram, Registry } from 'prom-client';
import { BoundHistogram } from './bound-histogram.js';

const ABOUT = { name: 'seconds', help: 'How long', buckets: [0.1, 1, 10] };
const VALUES = [0.05, 0.1, 0.5, 1.5, 11, 11];

test('says to the letter what the library’s own says', async () => {
  const [ours, theirs] = [new Registry(), new Registry()];
  const bound = new BoundHistogram({ ...ABOUT, registers: [ours] });
  const plain = new Histogram({ ...ABOUT, labelNames: ['route'], registers: [theirs] });
  for (const route of ['a', 'b']) {
    const series = bound.bind({ route });
    for (const value of VALUES) {
      series.observe(value);
      plain.observe({ route }, value);
    }
  }
  expect(await ours.metrics()).toBe(await theirs.metrics());
});

test('a series without values is not told', async () => {
  const registry = new Registry();
  new BoundHistogram({ ...ABOUT, registers: [registry] }).bind({ route: 'a' });
  expect(await registry.metrics()).not.toContain('route');
});
