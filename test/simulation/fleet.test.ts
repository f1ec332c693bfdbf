import { longOr } from '#testing/long-run.js';
import { Fleet, type FleetOptions } from './fleet.js';
import type { SimulatedServer } from './simulated-server.js';

const SEEDS = Array.from({ length: longOr(2, 100) }, (_, index) => index + 1);
const THREE: FleetOptions['servers'] = { a: {}, b: {}, c: {} };
const SECOND = 1_000;

/** Runs a story with each seed. */
async function withSeeds(options: FleetOptions, story: (fleet: Fleet) => Promise<void>): Promise<void> {
  for (const seed of SEEDS) await Fleet.run({ ...options, seed }, story);
}

const a = (fleet: Fleet): SimulatedServer => fleet.servers.a as SimulatedServer;
/** A third of the traffic, as near as chance lets it come. */
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

test('a higher tier gets nothing while the lower one has room, and what does not fit', async () => {
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
  'no client notices a server that is %s; it is hardly called, and has its share again within ten seconds',
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
  ['leave at once', 300, 6],
  ['leave long before the timeout of a call', 1_000, 3],
] as const)(
  'a server that hangs loses its traffic also when its clients %s, and has its share again within ten seconds',
  async (_what, patienceMs, sharePercentMax) => {
    await withSeeds({ servers: THREE, patienceMs }, async (fleet) => {
      await fleet.traffic(5 * SECOND);
      a(fleet).state = 'hung';
      const illAt = fleet.now;
      await fleet.traffic(30 * SECOND);
      expect(fleet.shares(illAt + 0.5 * SECOND, fleet.now).a).toBeLessThanOrEqual(sharePercentMax);
      a(fleet).state = 'well';
      const wellAt = fleet.now;
      await fleet.traffic(20 * SECOND);
      expect(isThird(fleet.shares(wellAt + 10 * SECOND, fleet.now).a)).toBe(true);
      expect(fleet.failures).toEqual([]);
    });
  },
);

test('nobody runs down a server that has come back: its traffic grows with the seconds', async () => {
  await withSeeds({ servers: THREE, requestsPerSecond: 200 }, async (fleet) => {
    await fleet.traffic(2 * SECOND);
    a(fleet).state = 'gone';
    await fleet.traffic(10 * SECOND);
    a(fleet).state = 'well';
    const callsBefore = a(fleet).calls.length;
    await fleet.traffic(20 * SECOND);
    // From the first call that was answered.
    const probeAt = a(fleet).calls[callsBefore] ?? 0;
    const perSecond = [0, 1, 2, 3, 6].map((second) => a(fleet).callsBetween(probeAt + second * SECOND, probeAt + (second + 1) * SECOND));
    expect(perSecond[0]).toBeLessThan(30);
    expect(perSecond[1]).toBeLessThan(50);
    expect(perSecond[4]).toBeGreaterThan(45);
    expect(fleet.failures).toEqual([]);
  });
});

test.each(['gone', 'hung', 'status 500', 'status 429'] as const)(
  'when all are %s there is no storm, and ten seconds after it everything is served again',
  async (state) => {
    await withSeeds({ servers: THREE }, async (fleet) => {
      await fleet.traffic(5 * SECOND);
      const [callsBefore, requestsBefore] = [fleet.calls, fleet.requests];
      for (const server of Object.values(fleet.servers)) server.state = state;
      await fleet.traffic(30 * SECOND);
      expect(fleet.calls - callsBefore).toBeLessThan((fleet.requests - requestsBefore) * 0.3);
      for (const server of Object.values(fleet.servers)) server.state = 'well';
      const wellAt = fleet.now;
      await fleet.traffic(15 * SECOND);
      await fleet.calm();
      expect(fleet.failures.filter(({ at }) => at > wellAt + 10 * SECOND)).toEqual([]);
      const codes = new Set(fleet.failures.map(({ code }) => code));
      const known = ['model_capacity', 'model_unavailable', 'upstream_error', 'upstream_timeout'];
      expect([...codes].filter((code) => !known.includes(code))).toEqual([]);
    });
  },
);

test('failures that trip no breaker cost no more second calls than the budget has', async () => {
  const terms = { retryBurst: 50 };
  await withSeeds({ servers: THREE, terms }, async (fleet) => {
    for (const server of Object.values(fleet.servers)) server.state = 'flaky';
    await fleet.traffic(60 * SECOND);
    await fleet.calm();
    expect(fleet.calls).toBeLessThanOrEqual(fleet.requests * 1.2 + 50 + 120);
  });
});

test('more than all can take waits its turn, is never more than the caps, and the rest is told when to come back', async () => {
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
      await fleet.trafficOf(OTHER, 20 * SECOND);
      await fleet.calm();
      alone.push(...fleet.firstContentMs('other'));
    });
    const beside: number[] = [];
    await withSeeds({ servers }, async (fleet) => {
      await fleet.trafficOf({ ...OTHER, ...greedy }, 20 * SECOND);
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
      await fleet.trafficOf({ first: 200, second: 400, third: 800 }, 20 * SECOND);
      await fleet.calm();
      const served = ['first', 'second', 'third'].map((account) => fleet.firstContentMs(account).length);
      expect(Math.max(...served) / Math.min(...served)).toBeLessThan(1.2);
    });
  });
});

describe('a model with one route', () => {
  const ALONE: FleetOptions['servers'] = { a: { firstContentMs: 1_200 } };

  test.each(['gone', 'status 500', 'status 429'] as const)(
    'a hiccup (%s) costs those whose calls have failed their answer, and nobody else',
    async (state) => {
      await withSeeds({ servers: ALONE, requestsPerSecond: 40 }, async (fleet) => {
        await fleet.traffic(5 * SECOND);
        const callsBefore = fleet.calls;
        a(fleet).state = state;
        await fleet.traffic(0.3 * SECOND);
        a(fleet).state = 'well';
        const [wellAt, calls] = [fleet.now, fleet.calls - callsBefore];
        await fleet.traffic(10 * SECOND);
        await fleet.calm();
        expect(fleet.failures.filter(({ at }) => at > wellAt)).toEqual([]);
        expect(fleet.failures.length).toBeLessThanOrEqual(calls);
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

  test.each(['gone', 'status 500', 'status 429'] as const)(
    'in an outage (%s) it gets few calls, clients hear of it at once, and a second after it all are served',
    async (state) => {
      await withSeeds({ servers: ALONE, requestsPerSecond: 40 }, async (fleet) => {
        await fleet.traffic(5 * SECOND);
        a(fleet).state = state;
        await fleet.traffic(5 * SECOND);
        const [callsBefore, requestsBefore, waitingBefore] = [fleet.calls, fleet.requests, fleet.underWay];
        await fleet.traffic(30 * SECOND);
        expect((fleet.calls - callsBefore) / (fleet.requests - requestsBefore)).toBeLessThan(0.2);
        expect(Math.max(waitingBefore, fleet.underWay)).toBeLessThanOrEqual(1);
        a(fleet).state = 'well';
        const wellAt = fleet.now;
        await fleet.traffic(10 * SECOND);
        await fleet.calm();
        expect(fleet.failures.filter(({ at }) => at > wellAt + SECOND)).toEqual([]);
      });
    },
  );

  test('with little traffic nearly every request is tried, and none more than once', async () => {
    await withSeeds({ servers: ALONE, requestsPerSecond: 0.5 }, async (fleet) => {
      a(fleet).state = 'status 500';
      await fleet.traffic(120 * SECOND);
      expect(fleet.calls / fleet.requests).toBeGreaterThan(0.7);
      expect(fleet.calls).toBeLessThanOrEqual(fleet.requests);
    });
  });
});
