import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { keyCreate, keyRotate } from '#contracts/billing/keys.js';
import { type LedgerCheckReply, ledgerCheck } from '#contracts/billing/ledger.js';
import type { ServiceError } from '#contracts/service-error.js';
import type { Messaging } from '#messaging/messaging.js';
import type { Layout } from '#testing/stack.js';
import { connectAdministrator, createTenant, readBalance, type Tenant } from '#testing/tenant.js';
import { anyCrawl } from '../simulation/crawl.js';
import { Random } from '../simulation/random.js';
import { type Ask, Bookkeeper } from './bookkeeper.js';
import { anyAttribution, anyRequest, plainRequest, type Story, tell } from './chaos-client.js';
import { ChaosSystem, LEASE_MS, REAPER_GRACE_MS } from './chaos-system.js';
import { type Bill, findViolations, readBills, readPayer } from './check-bill.js';
import { Crawls } from './crawls.js';
import { DelegatedKeys } from './delegated-keys.js';
import { findBrokenPromises, findExceededSessions, limitByNumber } from './own-limits.js';
import { type Campaign, describeFault, type InjectedFault, planFaults } from './plan-faults.js';
import { PriceChanges } from './price-changes.js';
import { TightBudgets } from './tight-budgets.js';

/** Longest life of a hold after the faults: an extended lease, the grace, and 10 s for a busy machine. */
const QUIESCENT_MS = 2 * LEASE_MS + REAPER_GRACE_MS + 10_000;
/** Time for late settlements, and for the system to serve again. */
const LATE_MS = 20_000;
const SERVED_MS = 30_000;
/** Longest time of a movement of money during faults. */
const MOVED_MS = 60_000;
const REQUESTS_PER_CLIENT = 12;
/** Each request has a key of its own. */
const KEYS_MAX = 100_000;
/** Pause after a refusal, because a service that is down refuses at once. */
const REFUSED_PAUSE_MS = 250;
/** Keys that are rotated in each round, while requests may use them. */
const ROTATIONS = 3;
/** Clients that send requests with child keys, and clients of a service with items: each so many-th of them. */
const CHILDREN_EVERY = 6;
const CRAWLS_EVERY = 8;
/** A crawl costs as much as a request. More are tried at once than may be open. */
const TERMS = { unitUsd: '0.0001', dayMaxUsd: '500', openHoldsMax: 2 };
const TOPUP_PICO_USD = 1_000n * 10n ** 12n;
const LOCAL = fileURLToPath(new URL('../../.local/', import.meta.url));

interface NemesisReport {
  injected: Record<string, number>;
  kills: number;
  outcomes: Record<string, number>;
  /** Number of bills by reason. */
  reasons: Record<string, number>;
  settledLate: number;
  /** Late settlements below the reaper's reading. */
  gaveBack: number;
  /** Number of top-ups, refunds and adjustments. */
  movements: number;
  priceChanges: number;
  /** Number of bills of requests with a quote, by reason. */
  quoted: Record<string, number>;
  /** Number of crawls by outcome. */
  crawls: Record<string, number>;
  /** Number of bills of child keys. */
  delegated: number;
  violations: string[];
}

interface Witness {
  story: Story;
  /** Its gateway and a proxy were killed while it ran, so that only the last meter reading is left. */
  mayBeReaped: boolean;
}

/**
 * Injects faults into a running system under load, in rounds. After each round it waits until the system is quiet, then compares every bill
 * with the observations of its client, and checks the ledger.
 */
export class Nemesis {
  private readonly random: Random;
  private readonly witnesses: Witness[] = [];
  private readonly killed: { target: string; at: number }[] = [];
  private readonly injected: Record<string, number> = {};
  private readonly startedAt = performance.now();
  private kills = 0;
  private round = 0;
  private readonly bookkeeper: Bookkeeper;
  private readonly budgets: TightBudgets;
  private readonly prices: PriceChanges;
  private readonly children: DelegatedKeys;

  private constructor(
    private readonly campaign: Campaign,
    private readonly system: ChaosSystem,
    private readonly administrator: Messaging,
    private readonly tenant: Tenant,
    private readonly crawls: Crawls,
  ) {
    this.random = new Random(campaign.seed);
    const ask: Ask = (endpoint, request) => persist(MOVED_MS, () => administrator.request(endpoint, request));
    this.bookkeeper = new Bookkeeper(tenant.accountId, ask);
    this.budgets = new TightBudgets(tenant, ask);
    this.prices = new PriceChanges(administrator, ask);
    this.children = new DelegatedKeys(tenant, ask);
  }

  static async start(layout: Layout, campaign: Campaign): Promise<Nemesis> {
    const system = await ChaosSystem.start(layout);
    const administrator = await connectAdministrator(system.stack);
    const tenant = await createTenant(administrator, { usd: '1000.00', activeKeysMax: KEYS_MAX });
    return new Nemesis(campaign, system, administrator, tenant, await Crawls.start(system.stack, administrator, TERMS));
  }

  /** Runs rounds until all kills are done or a round has a violation. */
  async run(): Promise<NemesisReport> {
    for (;;) {
      await this.strike();
      const report = await this.report();
      this.say(report);
      if (report.violations.length > 0) this.keepLogs();
      if (report.violations.length > 0 || this.kills >= this.campaign.kills) return report;
    }
  }

  async stop(): Promise<void> {
    await this.crawls.stop();
    await this.administrator.close();
    await this.system.stop();
  }

  private async strike(): Promise<void> {
    const { campaign, random, system } = this;
    this.round += 1;
    const injected = planFaults(random, campaign, system, campaign.kills - this.kills);
    await this.budgets.raise(await this.readBills());
    const queues = await this.prepareClients();
    const beganAt = performance.now();
    const until = beganAt + campaign.trafficMs;
    const clients = Promise.all(queues.map((queue) => this.useIt(queue, until)));
    const crawls = Promise.all(this.list(isCrawler).map(() => this.crawlUntil(until)));
    const books = delay(campaign.trafficMs / 3).then(() => this.bookkeeper.work());
    const ends = delay(campaign.trafficMs / 2).then(() => Promise.all([this.crawls.kill(), this.children.revoke(random)]));
    const changes = [books, this.prices.change(), this.rotate(queues.flat(), campaign.trafficMs / 2), ends];
    await Promise.all([...injected.map((fault) => this.inject(fault)), ...changes]);
    const stories = (await clients).flat();
    await system.untilReady();
    await crawls;
    this.witnesses.push(...stories.map((story) => ({ story, mayBeReaped: this.bothDied(story) })));
    for (const url of system.gatewayUrls) await this.untilServed(url);
    await this.untilQuiet();
    await this.prices.endOlder();
  }

  /** Creates a key for each request, or a child key, which identifies its bill. */
  private async prepareClients(): Promise<Story[][]> {
    const { random, system } = this;
    await persist(SERVED_MS, () => this.children.begin(system.gatewayUrls[0] ?? ''));
    const clients = this.list((client) => !isCrawler(client)).map(async (client) => {
      const stories: Story[] = [];
      for (let index = 0; index < REQUESTS_PER_CLIENT; index++) {
        const name = `${this.campaign.seed}/${this.round}/${client}.${index}`;
        const url = random.pick(system.gatewayUrls) ?? '';
        const delegated = client % CHILDREN_EVERY === CHILDREN_EVERY - 1;
        const key = delegated ? await persist(SERVED_MS, () => this.children.makeKey(random, url)) : await this.makeKey();
        const story = anyRequest(random, name, key, url);
        await persist(SERVED_MS, () => limitByNumber(story, this.round, client * REQUESTS_PER_CLIENT + index));
        stories.push(story);
      }
      return stories;
    });
    return Promise.all(clients);
  }

  private list(isWanted: (client: number) => boolean): number[] {
    return Array.from({ length: this.campaign.clients }, (_, client) => client).filter(isWanted);
  }

  /** Sends crawls in sequence until `until`, paid by the tenant's key or a child key of it. */
  private async crawlUntil(until: number): Promise<void> {
    const { random, tenant, children } = this;
    while (performance.now() < until) {
      const payer = random.chance(0.5) ? { keyId: tenant.keyId } : { apiKey: children.pick(random).apiKey };
      const { steps } = await this.crawls.crawl(anyCrawl(random, { payer, attribution: anyAttribution(random) }));
      if (steps.some(({ step }) => step === 'refused')) await delay(REFUSED_PAUSE_MS);
    }
  }

  private async makeKey(): Promise<Story['key']> {
    const { keyId, key } = await persist(SERVED_MS, () => this.administrator.request(keyCreate, { projectId: this.tenant.projectId }));
    return { keyId, apiKey: key };
  }

  /** Replaces some keys. A request that runs with one ends, and one that starts with it is refused. */
  private async rotate(stories: readonly Story[], afterMs: number): Promise<void> {
    await delay(afterMs);
    const own = stories.filter(({ key }) => key.child === undefined);
    for (let count = 0; count < ROTATIONS; count++) {
      const keyId = this.random.pick(own)?.key.keyId ?? '';
      await persist(MOVED_MS, async () => {
        await this.administrator.request(keyRotate, { keyId, graceSeconds: 0 }).catch((error: ServiceError) => {
          if (error.code !== 'conflict') throw error; // an earlier attempt has replaced it
        });
      });
    }
  }

  /** Sends requests in sequence until `until`. Returns those that were started. */
  private async useIt(queue: readonly Story[], until: number): Promise<Story[]> {
    const finished: Story[] = [];
    for (const story of queue) {
      if (performance.now() >= until) break;
      finished.push(story);
      await tell(story);
      if (story.outcome.kind !== 'completed') await delay(REFUSED_PAUSE_MS);
    }
    return finished;
  }

  private async inject(fault: InjectedFault): Promise<void> {
    const { system } = this;
    await delay(fault.atMs);
    this.injected[describeFault(fault)] = (this.injected[describeFault(fault)] ?? 0) + 1;
    if (fault.kind === 'kill') {
      this.kills += 1;
      await system.kill(fault.target);
      this.killed.push({ target: fault.target, at: performance.now() });
    } else if (fault.kind === 'reset') {
      system.reset(fault.target);
    } else {
      const restore = fault.kind === 'freeze' ? system.freeze(fault.target) : system.cut(fault.target, fault.how);
      await delay(fault.forMs);
      restore();
    }
  }

  private bothDied({ gatewayUrl, beganAt }: Story): boolean {
    const gateway = this.system.findGatewayName(gatewayUrl);
    const after = this.killed.filter(({ at }) => at >= beganAt).map(({ target }) => target);
    return after.includes(gateway) && after.some((target) => /^(inference-proxy|tollgate)-/.test(target));
  }

  private async untilServed(gatewayUrl: string): Promise<void> {
    const deadline = performance.now() + SERVED_MS;
    for (let attempt = 1; ; attempt++) {
      const story = plainRequest(`${this.campaign.seed}/${this.round}/after ${attempt}`, await this.makeKey(), gatewayUrl);
      await tell(story);
      this.witnesses.push({ story, mayBeReaped: false });
      if (story.outcome.kind === 'completed') return;
      if (performance.now() > deadline) throw new Error(`${gatewayUrl} does not serve again: ${JSON.stringify(story.outcome)}`);
      await delay(100);
    }
  }

  private async untilQuiet(): Promise<void> {
    const deadline = performance.now() + QUIESCENT_MS;
    for (;;) {
      const { rows } = await this.query((database) => database.query('SELECT id, created_at, lease_until FROM billing.hold'));
      if (rows.length === 0) return;
      if (performance.now() > deadline) {
        this.keepLogs();
        throw new Error(`held for ${QUIESCENT_MS} ms after everything was well: ${JSON.stringify(rows)}`);
      }
      await delay(50);
    }
  }

  /** Reports all requests so far. Violations count only after the time for late settlements. */
  private async report(): Promise<NemesisReport> {
    const deadline = performance.now() + LATE_MS;
    for (;;) {
      const report = await this.judgeAll();
      if (report.violations.length === 0 || performance.now() > deadline) return report;
      await delay(500);
    }
  }

  private async judgeAll(): Promise<NemesisReport> {
    const { apiKey } = this.tenant;
    const { injected, kills, witnesses, prices } = this;
    const all = await this.readBills();
    const requests = all.filter(({ isItem }) => !isItem);
    const bills = Map.groupBy(requests, readPayer);
    const readOwn = ({ key }: Story): Bill[] => bills.get(readPayer(key)) ?? [];
    const found = witnesses.flatMap(({ story, mayBeReaped }) => findViolations(story, readOwn(story), mayBeReaped));
    const stories = witnesses.map(({ story }) => story);
    found.push(...stories.flatMap((story) => findBrokenPromises(story, readOwn(story)[0])), ...findExceededSessions(stories, all));
    found.push(...this.crawls.faults(all), ...this.children.exceeded(all));
    const quoted = stories.flatMap((story) => (story.quote ? readOwn(story) : []));
    const left = TOPUP_PICO_USD + this.bookkeeper.moved - all.reduce((sum, { paid }) => sum + paid, 0n);
    const [gatewayUrl = ''] = this.system.gatewayUrls;
    const balance = await persist(SERVED_MS, () => readBalance(gatewayUrl, apiKey));
    if (BigInt(balance.balance_pico_usd) !== left) found.push(`the balance is ${balance.balance_pico_usd}, the bills leave ${left}`);
    if (balance.reserved_pico_usd !== '0') found.push(`${balance.reserved_pico_usd} is reserved`);
    const known = new Set<string | null>(stories.map(({ key }) => readPayer(key)));
    for (const [key, billed] of bills) {
      // A hold released before its reserve has no key and no price.
      if (!known.has(key) && (key !== null || billed.some(({ paid }) => paid > 0n))) found.push(`billed to an unknown key: ${key}`);
    }
    found.push(...this.budgets.exceeded(all));
    const wrong = requests.filter(({ keyId, model, price, reservedAt }) => keyId !== null && !prices.isAllowed(model, price, reservedAt));
    found.push(
      ...wrong.map(
        ({ keyId, price }) =>
          `the request of key ${keyId} has the price ${JSON.stringify(price, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value))}`,
      ),
    );
    const { violations } = await this.checkLedger();
    found.push(...violations.map((violation) => `ledger: ${JSON.stringify(violation)}`));
    const outcomes = witnesses.map(({ story: { outcome } }) => outcome.kind + (outcome.kind === 'refused' ? ` ${outcome.status}` : ''));
    return {
      injected,
      kills,
      outcomes: count(outcomes),
      reasons: count(all.map(({ reason }) => reason)),
      settledLate: all.filter(({ reading }) => reading !== undefined).length,
      gaveBack: all.filter(({ reading, paid }) => reading !== undefined && paid < reading).length,
      movements: this.bookkeeper.movements,
      priceChanges: prices.count,
      quoted: count(quoted.map(({ reason, reading }) => (reading === undefined ? reason : `${reason}, settled late`))),
      crawls: this.crawls.outcomes,
      delegated: all.filter(({ child }) => child !== null).length,
      violations: found,
    };
  }

  private readBills(): Promise<Bill[]> {
    return this.query((database) => readBills(database, this.tenant.accountId));
  }

  private checkLedger(): Promise<LedgerCheckReply> {
    return persist(SERVED_MS, () => this.administrator.request(ledgerCheck, {}, { timeoutMs: SERVED_MS }));
  }

  /** Uses a new connection, because Postgres is killed too. */
  private query<Result>(ask: (database: pg.Client) => Promise<Result>): Promise<Result> {
    return persist(SERVED_MS, async () => {
      const database = new pg.Client({ connectionString: this.system.stack.databaseUrl });
      database.on('error', () => undefined);
      try {
        await database.connect();
        return await ask(database);
      } finally {
        await database.end().catch(() => undefined);
      }
    });
  }

  private say({ outcomes, violations }: NemesisReport): void {
    const seconds = Math.round((performance.now() - this.startedAt) / 1_000);
    const { kills, campaign, round, witnesses } = this;
    process.stderr.write(
      `   nemesis: round ${round}, ${kills} of ${campaign.kills} kills, ${witnesses.length} requests ${JSON.stringify(outcomes)}, ${violations.length} violations, ${seconds} s\n`,
    );
  }

  /** Keeps the logs of the services for diagnosis. */
  private keepLogs(): void {
    const kept = join(LOCAL, 'chaos-logs');
    rmSync(kept, { recursive: true, force: true });
    mkdirSync(kept, { recursive: true });
    for (const folder of this.system.logDirs) renameSync(folder, join(kept, basename(dirname(folder))));
    process.stderr.write(`the logs of the services are kept in ${kept}\n`);
  }
}

function isCrawler(client: number): boolean {
  return client % CRAWLS_EVERY === CRAWLS_EVERY - 2;
}

function count(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return Object.fromEntries(Object.entries(counts).sort());
}

/** Retries for `forMs` while the service restarts. */
async function persist<Result>(forMs: number, ask: () => Promise<Result>): Promise<Result> {
  const deadline = performance.now() + forMs;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await delay(100);
    }
  }
}
