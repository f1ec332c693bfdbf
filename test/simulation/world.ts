import type { ReserveRequest } from '#contracts/billing/holds.js';
import type { Ticket } from '#contracts/inference.js';
import { listChain } from '#contracts/rules/child-path.js';
import { GatewayError } from '#inference/errors.js';
import type { FinishReason, StreamEvent } from '#inference/stream-event.js';
import { isContent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';
import { parsePrice } from '#money/price-plan.js';
import { TEST_CALLER } from '#testing/fake-services.js';
import type { Settle } from '../../apps/billing/src/batch/batch.js';
import type { Reply } from '../../apps/gateway/src/pipeline/reply.js';
import { runInference } from '../../apps/gateway/src/pipeline/run-inference.js';
import { findCrawlFaults, nameCrawlOutcome } from './check-crawl.js';
import { CrashMatrix, EVENTS, type Event, type PlannedFault, STEPS, type Step } from './crash-matrix.js';
import { anyCrawl } from './crawl.js';
import { type Counted, Governance } from './governance.js';
import { CrawlStory, ItemService } from './item-service.js';
import { Network, type NetworkFaults } from './network.js';
import { BillingNode, GatewayNode, ProxyNode, type Settler } from './nodes.js';
import { checkQuote, listQuotedEnds, makeRequest, quoteStory } from './quoted-requests.js';
import { Random } from './random.js';
import { judge, RequestStory, readCode } from './request-story.js';
import { ServiceTally } from './service-tally.js';
import { SimulatedDatabase } from './simulated-database.js';
import { chooseScript, type Script } from './simulated-upstream.js';
import { VirtualTime } from './virtual-time.js';

const TIMES = { leaseMs: 6_000, reaperGraceMs: 2_000 };
const ARRIVALS_MS = 60_000;
/** Time after the last fault in which all leases, retries and late settlements end. */
const CALM_MS = 120_000;
/** Time in which a single request, its lease, retries and late settlement end. */
const SOON_MS = 60_000;
const REPLICAS = 2;
/** Share of the requests that are crawls of a service. */
const CRAWL_SHARE = 0.1;
/** Longest time of a page: a lease ends within some. */
const PAGE_MS_MAX = 9_000;
/** Share of requests with a planned fault, which also affects others. */
const FAULTY_SHARE = 0.17;
const OUTAGE_MS = [200, 4_000] as const;
const CELLS: readonly PlannedFault[] = STEPS.flatMap((step) => EVENTS.map((event) => ({ step, event })));

/** Faults that a crawl comes to. */
const CELLS_WITH_HOLD = CELLS.filter(({ step }) => /^(reserve|settle (commit|ack))/.test(step));

interface WorldReport {
  /** Violations. */
  violations: string[];
  /** Number of requests by outcome, refusals by code. */
  outcomes: Record<string, number>;
}

/** Runs `requests` requests through gateways, proxies and billing services under faults. The same seed gives the same run. */
export function runWorld(seed: number, requests: number, matrix: CrashMatrix): Promise<WorldReport> {
  return inVirtualTime(seed, async (time, random) => {
    const crawls = Math.round(requests * CRAWL_SHARE);
    const scripts = Array.from({ length: requests - crawls }, () => chooseScript(random));
    const network = { loss: 0.002, duplicates: 0.01 };
    const world = new World({ random, scripts, crawls, matrix, network, isScarce: random.chance(0.3) });
    if (random.chance(0.5)) world.changeKeysAndPrices(ARRIVALS_MS);
    // The seeds deal the cells of the matrix out in turn, so that a few seeds reach all of them.
    let cell = seed * Math.round(requests * FAULTY_SHARE);
    for (const story of world.stories) {
      if (random.chance(FAULTY_SHARE)) planFault(story, CELLS[cell++ % CELLS.length] as PlannedFault);
    }
    for (const story of world.crawls) if (random.chance(FAULTY_SHARE)) story.fault = random.pick(CELLS_WITH_HOLD);
    world.start(ARRIVALS_MS);
    await time.run(ARRIVALS_MS + 20_000);
    world.endFaults();
    await time.run(CALM_MS);
    return { violations: world.violations(), outcomes: world.outcomes() };
  });
}

/** Runs one request, with one fault or none, and returns its outcome after recovery. */
export function runRequest(seed: number, script: Script, fault?: PlannedFault): Promise<{ story: RequestStory; cost: bigint | undefined }> {
  return inVirtualTime(seed, async (time, random) => {
    const matrix = new CrashMatrix();
    const world = new World({ random, scripts: [script], crawls: 0, matrix, network: { loss: 0, duplicates: 0 }, isScarce: false });
    const story = world.stories[0] as RequestStory;
    if (fault !== undefined) planFault(story, fault);
    world.start(1_000);
    await time.run(script.firstByteMs + SOON_MS);
    const violations = world.violations();
    if (fault !== undefined && matrix.of(fault.step, fault.event) !== 1) violations.push('the request did not come to its fault');
    if (violations.length > 0) throw new Error(`seed ${seed}: ${violations.join('; ')}`);
    return { story, cost: world.readCost(story) };
  });
}

/** The proxy reads on only at an upstream that hides billed output, after its client has disconnected. */
function planFault(story: RequestStory, fault: PlannedFault): void {
  if (fault.step !== 'read on for its usage') {
    story.fault = fault;
    return;
  }
  Object.assign(story.script, { hides: true, ending: 'good' });
  story.fault = { step: story.script.stream ? 'mid-stream' : 'before first content', event: 'client leaves' };
  story.nextFault = fault;
}

async function inVirtualTime<Result>(seed: number, run: (time: VirtualTime, random: Random) => Promise<Result>): Promise<Result> {
  const time = new VirtualTime();
  const random = new Random(seed);
  const { random: realRandom } = Math;
  Math.random = random.next;
  time.install();
  try {
    return await run(time, random);
  } finally {
    time.restore();
    Math.random = realRandom;
  }
}

/** Balance of an account with too little: some of the requests cost more. */
const SCARCE_PICO_USD = 600_000_000n;
/** Part of it that is lent. */
const SCARCE_CREDIT_LINE = 500_000_000n;

interface WorldOptions {
  random: Random;
  /** Upstream script of each request. */
  scripts: readonly Script[];
  crawls: number;
  matrix: CrashMatrix;
  network: NetworkFaults;
  isScarce: boolean;
}

class World {
  private readonly network: Network;
  private readonly database: SimulatedDatabase;
  private readonly readings = new Map<string, number>();
  readonly stories: RequestStory[];
  readonly crawls: CrawlStory[];
  private readonly byHold = new Map<string, RequestStory | CrawlStory>();
  private readonly tally: ServiceTally;
  private service: ItemService;
  private readonly gateways: GatewayNode[] = [];
  private readonly proxies: ProxyNode[] = [];
  private readonly billings: BillingNode[] = [];
  private readonly random: Random;
  private readonly matrix: CrashMatrix;
  private readonly initialPicoUsd: bigint;
  private readonly creditLine: bigint;
  private readonly isScarce: boolean;
  private readonly governance: Governance;
  private readonly faults: string[] = [];
  private calm = false;

  constructor({ random, scripts, crawls, matrix, network, isScarce }: WorldOptions) {
    this.random = random;
    this.matrix = matrix;
    this.network = new Network(random, network);
    this.database = new SimulatedDatabase(TIMES, random);
    this.isScarce = isScarce;
    this.initialPicoUsd = isScarce ? SCARCE_PICO_USD - SCARCE_CREDIT_LINE : 10n ** 15n;
    this.creditLine = isScarce ? SCARCE_CREDIT_LINE : 0n;
    const { accountId, projectId } = TEST_CALLER;
    this.database.model.accounts.set(accountId, { topup: this.initialPicoUsd, plan: 0n, grant: null, creditLine: this.creditLine });
    this.database.model.projects.set(projectId, {
      accountId,
      requestsPerMinuteMax: 100_000,
      concurrencyMax: 1_000,
      enabled: true,
      admitted: [],
    });
    this.governance = new Governance(random, this.database.model);
    if (isScarce) this.governance.limit();
    this.stories = scripts.map((script, index) => new RequestStory(index, script));
    this.crawls = Array.from({ length: crawls }, (_, index) => new CrawlStory(index));
    this.tally = new ServiceTally(this.faults);
    this.service = new ItemService(this.network);
  }

  /** Starts requests at random times within `arrivalsMs`. */
  start(arrivalsMs: number): void {
    for (let replica = 0; replica < REPLICAS; replica++) {
      this.addBilling();
      this.addProxy();
      this.addGateway();
    }
    for (const story of this.stories) if (story.isQuoted) void quoteStory(story);
    for (const story of this.stories) setTimeout(() => void this.runRequest(story), this.random.between(100, arrivalsMs));
    for (const story of this.crawls) setTimeout(() => this.runCrawl(story), this.random.between(100, arrivalsMs));
  }

  /** Replaces keys and changes prices at random times. A gateway learns of a price some time later. */
  changeKeysAndPrices(forMs: number): void {
    this.governance.change(forMs, (price, withinMs) => {
      for (const gateway of this.gateways)
        setTimeout(
          () => {
            if (gateway.model.pinnedPrice.version < price.pinnedPrice.version) gateway.model = price;
          },
          this.random.between(0, withinMs),
        );
    });
  }

  /** Ends all faults. */
  endFaults(): void {
    this.calm = true;
    if (!this.network.isUp) this.network.comeBack();
    this.database.comeBack();
  }

  outcomes(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const story of this.stories) {
      const { outcome = 'cut off' } = story;
      const name = outcome === 'refused' ? `refused ${readCode(story)}` : outcome;
      counts[name] = (counts[name] ?? 0) + 1;
      for (const end of listQuotedEnds(story)) counts[end] = (counts[end] ?? 0) + 1;
    }
    for (const story of this.crawls) {
      const name = `crawl ${nameCrawlOutcome(story)}`;
      counts[name] = (counts[name] ?? 0) + 1;
    }
    return counts;
  }

  /** Charged cost; undefined without a hold or a settlement. */
  readCost({ holdId = '' }: RequestStory): bigint | undefined {
    return this.database.model.costs.get(holdId);
  }

  violations(): string[] {
    const { model } = this.database;
    for (const holdId of model.holds.keys()) this.faults.push(`${this.byHold.get(holdId)?.requestId}: the hold is still open`);
    const charged = [...model.costs.values()].reduce((sum, cost) => sum + cost, 0n);
    const counted: Counted[] = [...this.stories, ...this.crawls];
    this.faults.push(...this.governance.exceeded(counted), ...this.governance.childFaults(counted));
    this.faults.push(...this.crawls.flatMap((story) => findCrawlFaults(story, story.bill)), ...this.tally.openFaults());
    const left = model.accounts.get(TEST_CALLER.accountId)?.topup ?? 0n;
    if (left < -this.creditLine) this.faults.push(`${left} is below the credit line of ${this.creditLine}`);
    if (this.initialPicoUsd - left !== charged) this.faults.push(`${this.initialPicoUsd - left} left the account, ${charged} was charged`);
    for (const story of this.stories) {
      const end = this.governance.findEnd(story.keyId, story.child);
      const keyEnded = Number.isFinite(end) && end <= story.endedAt;
      this.faults.push(...judge(story, model.costs.get(story.holdId ?? ''), { fundsAreScarce: this.isScarce, keyEnded }));
    }
    return this.faults;
  }

  // ---- the client ----

  private async runRequest(story: RequestStory): Promise<void> {
    const gateway = this.random.pick(this.gateways.filter(({ process }) => process.isAlive));
    if (gateway === undefined) return;
    story.gateway = gateway;
    story.knownPrice = gateway.model.pinnedPrice.version;
    const apiKey = this.governance.findKey(story);
    this.at(story, 'auth');
    try {
      const caller = await gateway.keys.resolve(apiKey);
      const { requestId, attribution, quoted } = story;
      const request = makeRequest(story);
      if (this.governance.countsSessions) story.sessionLimit = story.ownSessionLimit;
      const promised = quoted && (await checkQuote(story, quoted));
      const call = { request, caller, requestId, attribution, promised, sessionLimit: story.sessionLimit };
      await runInference(gateway.services, call, this.makeReply(story), story.record);
      story.outcome ??= 'left';
    } catch (error) {
      story.error = error;
      if (!(error instanceof GatewayError)) this.faults.push(`${story.requestId}: not a GatewayError: ${String(error)}`);
      story.outcome = story.record.holdId === undefined ? 'refused' : 'error';
    } finally {
      story.endedAt = Date.now();
    }
  }

  /** A key pays, or a child key of it where there are any. */
  private runCrawl(story: CrawlStory): void {
    const apiKey = this.governance.findKey(story);
    const isNamedById = story.index % 3 === 0;
    if (isNamedById) story.child = undefined;
    const payer = isNamedById ? { keyId: story.keyId ?? '' } : { apiKey };
    story.order = anyCrawl(this.random, {
      payer,
      attribution: story.attribution,
      pageMsMax: this.random.chance(0.1) ? PAGE_MS_MAX : 1_000,
    });
    void this.service.run(story);
  }

  private makeReply(story: RequestStory): Reply {
    return {
      stopped: story.clientGone.signal,
      send: (batch: readonly StreamEvent[]) => {
        if (story.script.stream && batch.some(isContent)) story.sawContent = true;
        return this.random.chance(0.1) ? new Promise<void>((resolve) => setTimeout(resolve, this.random.between(1, 300))) : undefined;
      },
      finish: (_reason: FinishReason, usage: Usage) => {
        story.outcome = 'completed';
        story.usage = usage;
        // A reply is settled before it ends, so that a balance read after it is exact.
        const { holdId, costPicoUsd } = story.record;
        if (costPicoUsd !== undefined && !this.database.model.costs.has(holdId ?? '')) {
          this.faults.push(`${story.requestId}: finished before its settlement was recorded`);
        }
      },
    };
  }

  // ---- faults ----

  /** Called when a request reaches a step. Executes its fault for that step. */
  private at(story: RequestStory | CrawlStory | undefined, step: Step): void {
    if (story?.fault?.step !== step || this.calm) return;
    const { fault } = story;
    story.fault = story.nextFault;
    story.nextFault = undefined;
    this.matrix.count(fault);
    this.happen(story, fault.event);
  }

  private happen(story: RequestStory | CrawlStory, event: Event): void {
    const laterMs = this.random.between(...OUTAGE_MS);
    switch (event) {
      case 'client leaves':
        if (story instanceof RequestStory) story.clientGone.abort();
        else this.replaceService();
        return;
      case 'gateway dies':
        this.replace(this.findGateway(story), laterMs, () => this.addGateway());
        return;
      case 'proxy dies':
        this.replaceProxy(story, laterMs);
        return;
      case 'billing dies':
        this.replaceBillings(this.random.chance(0.5) ? this.alive(this.billings).length : 1, laterMs);
        return;
      case 'all die':
        this.replace(this.findGateway(story), laterMs, () => this.addGateway());
        this.replaceProxy(story, laterMs);
        this.replaceBillings(1, laterMs);
        return;
      case 'NATS down':
        if (!this.network.isUp) return;
        this.network.goDown();
        setTimeout(() => !this.network.isUp && this.network.comeBack(), laterMs);
        return;
      case 'Postgres down':
        if (!this.database.isUp) return;
        this.database.goDown();
        setTimeout(() => this.database.comeBack(), laterMs);
        return;
    }
  }

  /** Gateways share the calls of a service. */
  private findGateway(story: RequestStory | CrawlStory): GatewayNode | undefined {
    return story instanceof RequestStory ? story.gateway : this.random.pick(this.alive(this.gateways));
  }

  /** The service dies. A new one knows nothing of its crawls. */
  private replaceService(): void {
    this.service.kill();
    this.service = new ItemService(this.network);
  }

  private replaceProxy(story: RequestStory | CrawlStory, laterMs: number): void {
    this.replace(story.proxy ?? this.random.pick(this.alive(this.proxies)), laterMs, () => this.addProxy());
  }

  private replaceBillings(count: number, laterMs: number): void {
    for (const victim of this.alive(this.billings).slice(0, count)) this.replace(victim, laterMs, () => this.addBilling());
  }

  private replace(node: GatewayNode | ProxyNode | BillingNode | undefined, laterMs: number, add: () => void): void {
    if (node?.process.isAlive !== true) return;
    node.kill();
    setTimeout(add, laterMs);
  }

  private alive<Node extends { process: { isAlive: boolean } }>(nodes: readonly Node[]): Node[] {
    return nodes.filter(({ process }) => process.isAlive);
  }

  // ---- the parts, with their observers ----

  private addGateway(): void {
    const node = new GatewayNode('gateway', this.network, this.governance.priced);
    node.process.onRequest = (_subject, payload) => {
      const { settles } = payload as { settles?: { holdId: string }[] };
      for (const { holdId } of settles ?? []) this.at(this.byHold.get(holdId), 'settle sent');
    };
    this.gateways.push(node);
  }

  private addProxy(): void {
    const story = (index: number): RequestStory => this.stories[index] as RequestStory;
    const observer = {
      dispatched: (index: number) => {
        if (story(index).holdId === undefined) this.faults.push(`request-${index}: work was begun without a hold`);
        this.at(story(index), 'dispatch');
      },
      answered: (index: number) => this.at(story(index), 'before first content'),
      produced: (index: number, tokens: number) => {
        story(index).producedTokens = Math.max(story(index).producedTokens, tokens);
        if (story(index).clientGone.signal.aborted) this.at(story(index), 'read on for its usage');
        if (tokens > 1 || !story(index).script.stream) this.at(story(index), 'mid-stream');
      },
      finished: (index: number) => {
        story(index).upstreamReported = true;
        this.at(story(index), 'finished, settle not sent');
      },
    };
    const onOpen = ({ requestId, promptTokensEstimate }: Ticket, node: ProxyNode): void => {
      const opened = story(Number(requestId.slice('request-'.length)));
      opened.proxy = node;
      opened.promptTokensEstimate = promptTokensEstimate;
    };
    this.proxies.push(
      new ProxyNode(
        'proxy',
        this.network,
        this.stories.map(({ script }) => script),
        observer,
        onOpen,
      ),
    );
  }

  /** Keeps the price of a hold, which its gateway knew while the request ran, or its quote has. */
  private notePrice(story: RequestStory, { requestId, price }: ReserveRequest): void {
    const oldest = story.quoted?.version ?? story.knownPrice;
    const newest = story.quoted?.version ?? story.gateway?.model.pinnedPrice.version ?? 0;
    if (price.version < oldest || price.version > newest) this.faults.push(`${requestId}: price version ${price.version}`);
    story.price = parsePrice(price);
  }

  private addBilling(): void {
    const byRequest = (requestId: string): RequestStory | CrawlStory => {
      const [kind, index] = requestId.split('-');
      return (kind === 'crawl' ? this.crawls : this.stories)[Number(index)] as RequestStory | CrawlStory;
    };
    const observer = {
      beforeReserve: (requestId: string) => this.at(byRequest(requestId), 'reserve before commit'),
      held: (reserve: ReserveRequest) => {
        const { requestId, holdId, keyId, amountPicoUsd } = reserve;
        const story = byRequest(requestId);
        if (story instanceof RequestStory) this.notePrice(story, reserve);
        else this.tally.hold(story, BigInt(amountPicoUsd));
        if (keyId !== story.keyId) this.faults.push(`${requestId}: held for another key`);
        if (reserve.attribution?.child !== story.child) this.faults.push(`${requestId}: held for another child key`);
        const levels = story.child === undefined ? undefined : listChain(story.child).length;
        if (reserve.childLimitsPicoUsd?.length !== levels) this.faults.push(`${requestId}: held without the limits of its child keys`);
        if (story.holdId !== undefined && story.holdId !== holdId) this.faults.push(`${requestId}: two holds`);
        // A repeated reserve finds the hold as it is.
        if (story.holdId === undefined) story.heldAt = Date.now();
        story.holdId = holdId;
        story.amount = BigInt(amountPicoUsd);
        this.byHold.set(holdId, story);
      },
      reserveCommitted: (requestId: string) => this.at(byRequest(requestId), 'reserve committed, reply lost'),
      settleCommitted: (holdId: string) => this.at(this.byHold.get(holdId), 'settle commit unknown'),
      settleAnswered: (holdId: string) => this.at(this.byHold.get(holdId), 'settle acknowledgement lost'),
      settled: ({ holdId, usage }: Settle, by: Settler) => {
        const story = this.byHold.get(holdId);
        if (story === undefined) return;
        if (!(story instanceof RequestStory)) {
          story.settledBy.push(by);
          this.tally.settle(story, this.database.model.costs.get(holdId) ?? 0n);
          return;
        }
        const { promptTokens = 0, outputTokens = 0 } = usage ?? {};
        if (story.settledBy.length === 0 && by !== 'reaper')
          story.usedTokens = Math.min(promptTokens, story.promptTokensHeld) + outputTokens;
        story.settledBy.push(by);
      },
    };
    const node: BillingNode = new BillingNode(
      'billing',
      this.network,
      this.database,
      this.readings,
      this.governance,
      observer,
      () => this.alive(this.billings)[0] === node,
    );
    this.billings.push(node);
  }
}
