import { longOr } from '#testing/long-run.js';
import { Fleet, type FleetOptions } from './fleet.js';
import type { SimulatedServer } from './simulated-server.js';

const SEEDS = Array.from({ length: longOr(1, 100) }, (_, index) => index + 1);
const THREE: FleetOptions['servers'] = { a: {}, b: {}, c: {} };
const SECOND = 1_000;

/** Runs `story` with each seed. */
async function withSeeds(options: FleetOptions, story: (fleet: Fleet) => Promise<void>): Promise<void> {
  for (const seed of SEEDS) await Fleet.run({ ...options, seed }, story);
}

const a = (fleet: Fleet): SimulatedServer => fleet.servers.a as SimulatedServer;
/** True for about a third of the traffic. */
const isThird = (share = 0): boolean => share >= 25 && share <= 42;

function percentile(values: readonly number[], percent: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length * percent) / 100)] ?? Number.NaN;
}

test('weights are shares of the traffic', async () => {
  await withSeeds({ servers: { a: { weight: 1 }, b: { weight: 2 }, c: { weight: 5 } } }, async (fleet) => {
    await fleet.traffic(40 * SECOND);
    const shares = fleet.shares(0, fleet.now);
    expect(Object.entries(shares).map(([id, share]) => [id, Math.abs(share - { a: 12.5, b: 25, c: 62.5 }[id as 'a']) < 4])).toEqual([
      ['a', true],
      ['b', true],
      ['c', true],
    ]);
    expect(fleet.failures).toEqual([]);
  });
});

test('a route of a higher priority number gets only what the lower one has no room for', async () => {
  const servers = { a: { concurrencyMax: 8 }, b: { priority: 1 } };
  await withSeeds({ servers, requestsPerSecond: 10 }, async (fleet) => {
    await fleet.traffic(10 * SECOND);
    expect(fleet.shares(0, fleet.now).b).toBeLessThanOrEqual(5);
  });
  await withSeeds({ servers, requestsPerSecond: 100 }, async (fleet) => {
    await fleet.traffic(10 * SECOND);
    expect(a(fleet).runningMax).toBe(8);
    expect(fleet.shares(0, fleet.now).b).toBeGreaterThan(40);
    expect(fleet.failures).toEqual([]);
  });
});

test('a slow server gets little, and its share again within ten seconds of being as fast as the others', async () => {
  await withSeeds({ servers: THREE }, async (fleet) => {
    await fleet.traffic(5 * SECOND);
    a(fleet).slowness = 10;
    await fleet.traffic(20 * SECOND);
    expect(fleet.shares(10 * SECOND, fleet.now).a).toBeLessThanOrEqual(5);
    a(fleet).slowness = 1;
    const wellAt = fleet.now;
    await fleet.traffic(20 * SECOND);
    expect(isThird(fleet.shares(wellAt + 10 * SECOND, fleet.now).a)).toBe(true);
    expect(fleet.failures).toEqual([]);
  });
});

test.each(['gone', 'hung', 'status 500', 'status 429'] as const)(
  'one server is %s: no request is lost, it is hardly called, and has its share again ten seconds after its recovery',
  async (state) => {
    await withSeeds({ servers: THREE }, async (fleet) => {
      await fleet.traffic(5 * SECOND);
      a(fleet).state = state;
      const illAt = fleet.now;
      await fleet.traffic(30 * SECOND);
      expect(fleet.shares(illAt + 3 * SECOND, fleet.now).a).toBeLessThanOrEqual(1);
      a(fleet).state = 'well';
      const wellAt = fleet.now;
      await fleet.traffic(20 * SECOND);
      expect(isThird(fleet.shares(wellAt + 10 * SECOND, fleet.now).a)).toBe(true);
      await fleet.calm();
      expect(fleet.failures).toEqual([]);
    });
  },
);

test('a server that hangs loses its traffic before the first timeout', async () => {
  await withSeeds({ servers: THREE }, async (fleet) => {
    await fleet.traffic(5 * SECOND);
    a(fleet).state = 'hung';
    const illAt = fleet.now;
    await fleet.traffic(2 * SECOND);
    expect(fleet.shares(illAt + 0.5 * SECOND, fleet.now).a).toBeLessThanOrEqual(2);
  });
});

test.each([
  ['long before a call times out', 5 * SECOND, 4],
  ['after slowStartMs', 15 * SECOND, 1],
] as const)('one server hangs, and its clients disconnect %s: it loses its traffic', async (_when, patienceMs, sharePercentMax) => {
  const timeouts = { connectMs: 5 * SECOND, firstByteMs: 120 * SECOND, idleMs: 60 * SECOND, totalMs: 600 * SECOND };
  await withSeeds({ servers: THREE, patienceMs, timeouts }, async (fleet) => {
    await fleet.traffic(5 * SECOND);
    a(fleet).state = 'hung';
    const hungAt = fleet.now;
    await fleet.traffic(30 * SECOND);
    expect(fleet.shares(hungAt + 0.5 * SECOND, fleet.now).a).toBeLessThanOrEqual(sharePercentMax);
    a(fleet).state = 'well';
    const wellAt = fleet.now;
    await fleet.traffic(30 * SECOND);
    expect(isThird(fleet.shares(wellAt + 20 * SECOND, fleet.now).a)).toBe(true);
    expect(fleet.failures).toEqual([]);
  });
});

test('streams that are slow for all clients open no circuit for those who wait: half of them disconnect', async () => {
  const servers = { a: { firstContentMs: 30 * SECOND }, b: { firstContentMs: 30 * SECOND } };
  const timeouts = { connectMs: 5 * SECOND, firstByteMs: 120 * SECOND, idleMs: 60 * SECOND, totalMs: 600 * SECOND };
  await withSeeds({ servers, timeouts, requestsPerSecond: 3, patienceMs: 20 * SECOND, impatientShare: 0.5 }, async (fleet) => {
    await fleet.traffic(120 * SECOND);
    await fleet.calm();
    expect(fleet.left.length).toBeGreaterThan(fleet.requests * 0.3);
    expect(fleet.failures).toEqual([]);
  });
});

test.each(['gone', 'status 500', 'status 429'] as const)(
  'all servers are %s: retries keep to their budget, and every request is served from the recovery on',
  async (state) => {
    await withSeeds({ servers: THREE, options: { retryBurst: 100 } }, async (fleet) => {
      await fleet.traffic(5 * SECOND);
      const [callsBefore, requestsBefore] = [fleet.calls, fleet.requests];
      for (const server of Object.values(fleet.servers)) server.state = state;
      await fleet.traffic(30 * SECOND);
      expect(fleet.calls - callsBefore).toBeLessThanOrEqual((fleet.requests - requestsBefore) * 1.2 + 100 + 60);
      for (const server of Object.values(fleet.servers)) server.state = 'well';
      const wellAt = fleet.now;
      await fleet.traffic(15 * SECOND);
      await fleet.calm();
      expect(fleet.failures.filter(({ at }) => at > wellAt)).toEqual([]);
    });
  },
);

test('all servers hang: they get few calls, and every request is served ten seconds after their recovery', async () => {
  await withSeeds({ servers: THREE }, async (fleet) => {
    await fleet.traffic(5 * SECOND);
    const [callsBefore, requestsBefore] = [fleet.calls, fleet.requests];
    for (const server of Object.values(fleet.servers)) server.state = 'hung';
    await fleet.traffic(30 * SECOND);
    expect(fleet.calls - callsBefore).toBeLessThan((fleet.requests - requestsBefore) * 0.3);
    for (const server of Object.values(fleet.servers)) server.state = 'well';
    const wellAt = fleet.now;
    await fleet.traffic(15 * SECOND);
    await fleet.calm();
    expect(fleet.failures.filter(({ at }) => at > wellAt + 10 * SECOND)).toEqual([]);
  });
});

test('failures that open no circuit cost no more retries than the budget has', async () => {
  await withSeeds({ servers: THREE, options: { retryBurst: 50 } }, async (fleet) => {
    for (const server of Object.values(fleet.servers)) server.state = 'flaky';
    await fleet.traffic(60 * SECOND);
    await fleet.calm();
    expect(fleet.calls).toBeLessThanOrEqual(fleet.requests * 1.2 + 50 + 120);
  });
});

test('load beyond the caps waits in the queue, and the rest is refused with model_capacity', async () => {
  const servers = { a: { concurrencyMax: 5 }, b: { concurrencyMax: 5 } };
  await withSeeds({ servers, requestsPerSecond: 100 }, async (fleet) => {
    await fleet.traffic(20 * SECOND);
    await fleet.calm();
    expect([a(fleet).runningMax, fleet.servers.b?.runningMax]).toEqual([5, 5]);
    expect(new Set(fleet.failures.map(({ code }) => code))).toEqual(new Set(['model_capacity']));
    // Ten at a time, each 300 ms or so: 33 a second are served.
    expect(fleet.requests - fleet.failures.length).toBeGreaterThan(550);
  });
});

describe('accounts that ask for far more than the servers can take', () => {
  const OTHER = { other: 5 };

  test.each<[string, Record<string, number>]>([
    ['one', { greedy: 1_000 }],
    ['three', { greedy: 400, 'as greedy': 400, 'greedy too': 400 }],
  ])('%s of them cost another account neither an answer nor time', async (_what, greedy) => {
    const servers = { a: { concurrencyMax: 25 }, b: { concurrencyMax: 25 } };
    const alone: number[] = [];
    await withSeeds({ servers }, async (fleet) => {
      await fleet.sendTraffic(OTHER, 20 * SECOND);
      await fleet.calm();
      alone.push(...fleet.firstContentMs('other'));
    });
    const beside: number[] = [];
    await withSeeds({ servers }, async (fleet) => {
      await fleet.sendTraffic({ ...OTHER, ...greedy }, 20 * SECOND);
      await fleet.calm();
      expect(fleet.failures.filter(({ accountId }) => accountId === 'other')).toEqual([]);
      expect(fleet.failures.length).toBeGreaterThan(1_000);
      beside.push(...fleet.firstContentMs('other'));
    });
    expect(percentile(beside, 50)).toBeLessThan(1.1 * percentile(alone, 50));
    expect(percentile(beside, 99)).toBeLessThan(3 * percentile(alone, 99));
  });

  test('have equal shares of what is served', async () => {
    await withSeeds({ servers: { a: { concurrencyMax: 50 } } }, async (fleet) => {
      await fleet.sendTraffic({ first: 200, second: 400, third: 800 }, 20 * SECOND);
      await fleet.calm();
      const served = ['first', 'second', 'third'].map((account) => fleet.firstContentMs(account).length);
      expect(Math.max(...served) / Math.min(...served)).toBeLessThan(1.2);
    });
  });
});

describe('a model with one route', () => {
  const ALONE: FleetOptions['servers'] = { a: { firstContentMs: 1_200 } };

  test.each(['gone', 'status 500', 'status 429'] as const)(
    'a short outage (%s) costs only the requests that came during it',
    async (state) => {
      await withSeeds({ servers: ALONE, requestsPerSecond: 40 }, async (fleet) => {
        await fleet.traffic(5 * SECOND);
        const requestsBefore = fleet.requests;
        a(fleet).state = state;
        await fleet.traffic(0.3 * SECOND);
        a(fleet).state = 'well';
        const [wellAt, requests] = [fleet.now, fleet.requests - requestsBefore];
        await fleet.traffic(10 * SECOND);
        await fleet.calm();
        expect(fleet.failures.filter(({ at }) => at > wellAt)).toEqual([]);
        expect(fleet.failures.length).toBeLessThanOrEqual(requests);
      });
    },
  );

  test('requests that break the server, one in five, cost no other request its answer', async () => {
    const servers = { a: { firstContentMs: 300 } };
    await withSeeds({ servers, requestsPerSecond: 40, poisonShare: 0.2 }, async (fleet) => {
      await fleet.traffic(60 * SECOND);
      await fleet.calm();
      expect(fleet.failures).toEqual([]);
    });
  });

  test('in a long outage no request is called twice, and every request is served from the recovery on', async () => {
    await withSeeds({ servers: ALONE, requestsPerSecond: 40 }, async (fleet) => {
      await fleet.traffic(5 * SECOND);
      a(fleet).state = 'status 500';
      const [callsBefore, requestsBefore] = [fleet.calls, fleet.requests];
      await fleet.traffic(30 * SECOND);
      expect(fleet.calls - callsBefore).toBe(fleet.requests - requestsBefore);
      a(fleet).state = 'well';
      const wellAt = fleet.now;
      await fleet.traffic(10 * SECOND);
      await fleet.calm();
      expect(fleet.failures.filter(({ at }) => at > wellAt)).toEqual([]);
    });
  });

  test('while it hangs requests are refused at once, and it is called again within ten seconds of its recovery', async () => {
    await withSeeds({ servers: ALONE, requestsPerSecond: 40 }, async (fleet) => {
      await fleet.traffic(5 * SECOND);
      a(fleet).state = 'hung';
      await fleet.traffic(5 * SECOND);
      const [callsBefore, requestsBefore, waitingBefore] = [fleet.calls, fleet.requests, fleet.underWay];
      await fleet.traffic(30 * SECOND);
      expect((fleet.calls - callsBefore) / (fleet.requests - requestsBefore)).toBeLessThan(0.05);
      expect(Math.max(waitingBefore, fleet.underWay)).toBeLessThanOrEqual(1);
      a(fleet).state = 'well';
      const wellAt = fleet.now;
      await fleet.traffic(15 * SECOND);
      await fleet.calm();
      expect(fleet.failures.filter(({ at }) => at > wellAt + 10 * SECOND)).toEqual([]);
    });
  });
});
