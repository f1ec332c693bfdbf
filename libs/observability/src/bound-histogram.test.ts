import { Histogram, Registry } from 'prom-client';
import { BoundHistogram } from './bound-histogram.js';
import { writeMetrics } from './open-metrics.js';

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

test('a bucket has the last of its values with a trace as exemplar, in OpenMetrics only', async () => {
  const registry = new Registry();
  const series = new BoundHistogram({ ...CONFIG, registers: [registry] }).bind({ route: 'a' });
  series.observe(0.5, 'first');
  series.observe(0.6, 'second');
  series.observe(0.7);
  series.observe(11, 'third');
  const text = await writeMetrics(registry, true);
  expect(
    text
      .replaceAll(/(# \{.*\} \S+) [\d.]+$/gm, '$1')
      .split('\n')
      .slice(2, -2),
  ).toEqual([
    'seconds_bucket{le="0.1",route="a"} 0',
    'seconds_bucket{le="1",route="a"} 3 # {trace_id="second"} 0.6',
    'seconds_bucket{le="10",route="a"} 3',
    'seconds_bucket{le="+Inf",route="a"} 4 # {trace_id="third"} 11',
    'seconds_sum{route="a"} 12.8',
    'seconds_count{route="a"} 4',
  ]);
  expect(await registry.metrics()).not.toContain('trace_id');
});
