import { planReplicas, priceMillion } from './paper.mjs';

const CPU_MS = { gateway: 0.2, billing: 0.1, postgres: 0.15, nats: 0.03 };

test('a million requests cost their processor time, the memory meanwhile, and their rows of the journal', () => {
  const prices = { coreHour: 0.04, gbHour: 0.005, diskGbMonth: 0.1, journalMonths: 12, utilization: 0.5 };
  const price = priceMillion({ cpuMs: CPU_MS, memoryGb: 2, rate: 1_000 }, prices);
  expect(price.cpuSeconds).toBeCloseTo(480);
  expect(price.processor).toBeCloseTo((480 / 3_600 / 0.5) * 0.04);
  expect(price.memory).toBeCloseTo((2 * 2_000 * 0.005) / 3_600);
  expect(price.journal).toBeCloseTo(0.475 * 12 * 0.1);
  expect(price.usd).toBeCloseTo(price.processor + price.memory + price.journal);
});

test('the busiest service says what replicas carry; Postgres and NATS are shared', () => {
  const plan = planReplicas(CPU_MS, { replicas: 10, utilization: 0.5, shardCores: 8 });
  expect(plan).toEqual({
    replicas: 10,
    requestsPerSecond: 25_000,
    first: 'gateway',
    postgresCores: expect.closeTo(7.5),
    natsCores: expect.closeTo(1.5),
    shards: 1,
    journalTbMonth: expect.closeTo((25_000 * 475 * 2_592_000) / 1e12),
  });
  expect(planReplicas(CPU_MS, { replicas: 100, utilization: 0.5, shardCores: 8 }).shards).toBe(10);
});
