import { Histogram, Registry } from 'prom-client';
import { BoundHistogram } from './bound-histogram.js';

const CONFIG = { name: 'seconds', help: 'Duration', buckets: [0.1, 1, 10] };

test('the text is that of the library’s own histogram', async () => {
  const [ours, theirs] = [new Registry(), new Registry()];
  const bound = new BoundHistogram({ ...CONFIG, registers: [ours] });
  const plain = new Histogram({ ...CONFIG, labelNames: ['route'], registers: [theirs] });
  for (const route of ['a', 'b']) {
    const series = bound.bind({ route });
    for (const value of [0.05, 0.1, 0.5, 1.5, 11, 11]) {
      series.observe(value);
      plain.observe({ route }, value);
    }
  }
  bound.bind({ route: 'without values' });
  expect(await ours.metrics()).toBe(await theirs.metrics());
});
