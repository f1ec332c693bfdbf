import type { Attribution } from '#contracts/billing/attribution.js';
import { GatewayError } from '#inference/errors.js';
import { NO_USAGE, type Usage } from '#inference/usage.js';
import type { BillableUsage, Price } from '#money/price.js';
import { costByToken, cutPrompt, dearestPart } from '#testing/cost-by-token.js';
import type { InferenceRecord } from '../../apps/gateway/src/pipeline/inference-call.js';
import type { PlannedFault } from './crash-matrix.js';
import { type GatewayNode, MODEL, type ProxyNode, type Settler } from './nodes.js';
import { countOutput, HIDDEN_TOKENS, type Script } from './simulated-upstream.js';

/** Output cap of every request. */
export const OUTPUT_TOKENS_MAX = 20;

/** One request, with the observations of its client and of the simulation. */
export class RequestStory {
  readonly record: InferenceRecord = {};
  readonly clientGone = new AbortController();
  fault: PlannedFault | undefined;
  /** Fault planned after `fault`. */
  nextFault: PlannedFault | undefined;
  gateway: GatewayNode | undefined;
  proxy: ProxyNode | undefined;
  endedAt = Number.POSITIVE_INFINITY;
  /** Version of the price that its gateway knew when it began. */
  knownPrice = 0;
  /** The signed quote that it is sent with, its version of the price, and the most that it may hold. */
  quoted: { quote: string; version: number; amount: bigint } | undefined;
  /** The most that it lets its session cost. */
  sessionLimit: bigint | undefined;
  /** The key that it uses. */
  keyId: string | undefined;
  /** The child key of it that it uses instead. */
  child: string | undefined;
  holdId: string | undefined;
  heldAt = 0;
  amount = 0n;
  price: Price = MODEL.price;
  /** Tokens of its settlement in time, which no late one has replaced, without those of the prompt beyond its hold. */
  usedTokens = 0;
  promptTokensEstimate = 0;
  /** Tokens that the upstream sent: no bill may exceed them. */
  producedTokens = 0;
  upstreamReported = false;
  sawContent = false;
  outcome: 'completed' | 'error' | 'left' | 'refused' | undefined;
  usage: Usage | undefined;
  /** Settling services. After the reaper there may be a second one. */
  readonly settledBy: Settler[] = [];
  error: unknown;

  constructor(
    readonly index: number,
    readonly script: Script,
  ) {}

  get attribution(): Attribution {
    return {
      user: `user-${this.index % 2}`,
      session: `run-${this.index % 4}`,
      'tag:team': `team-${this.index % 3}`,
      ...(this.child !== undefined && { child: this.child }),
    };
  }

  /** True for a request that a client has asked the price of when the run began. */
  get isQuoted(): boolean {
    return this.index % 5 === 2;
  }

  /** The most that it lets its session cost, where a budget counts sessions: some lower it, a few of them a second time. */
  get ownSessionLimit(): bigint | undefined {
    if (this.index % 9 !== 4) return undefined;
    return this.index % 2 === 0 ? 70_000_000n : 55_000_000n;
  }

  get text(): string {
    return `This is request ${this.index}.`;
  }

  /** The most tokens of its prompt that its hold is for: one a byte. */
  get promptTokensHeld(): number {
    return Buffer.byteLength(this.text);
  }

  get requestId(): string {
    return `request-${this.index}`;
  }
}

/** Circumstances of a run that may change the outcome of a request. */
interface Circumstances {
  /** Money or a budget may not suffice. */
  fundsAreScarce: boolean;
  /** The key ended while the request ran: it may be refused, or ended as by its client. */
  keyEnded: boolean;
}

/** Violations in the end of a request. `cost` is its charge; undefined if it was never settled. */
export function judge(story: RequestStory, cost: bigint | undefined, { fundsAreScarce, keyEnded }: Circumstances): string[] {
  const { holdId, script, record, outcome, clientGone, sawContent } = story;
  const gatewayLived = story.gateway?.process.isAlive === true;
  const faults: string[] = [];
  const code = readCode(story);
  if (code === 'invalid_request') faults.push(`it was refused: ${String(story.error)}`);
  if (code === 'insufficient_balance' && !fundsAreScarce) faults.push('it was refused, and there is money');
  if (code === 'invalid_api_key' && !keyEnded) faults.push('it was refused, and its key is valid');
  if (gatewayLived && outcome === undefined) faults.push('its gateway lives and never answered');
  if (holdId === undefined) {
    if (outcome === 'completed') faults.push('completed without a hold');
  } else if (cost === undefined) {
    faults.push('its hold was never settled');
  } else {
    if (cost > story.amount) faults.push(`cost ${cost}, held ${story.amount}`);
    if (story.quoted && cost > story.quoted.amount) faults.push(`cost ${cost}, quoted ${story.quoted.amount}`);
    if (cost > mostOwed(story, keyEnded)) faults.push(`cost ${cost}, but the upstream had given ${story.producedTokens} tokens`);
    const isCounted = script.ending === 'good' || script.ending === 'more than asked for';
    const owed = isCounted ? costAsReported(story) : computeBill(story, record.usage ?? NO_USAGE);
    // A late settlement writes off missing money. No request costs more than its reported usage.
    const isWrong = cost > owed || (cost < owed && !fundsAreScarce);
    if (outcome === 'completed' && gatewayLived && isWrong) faults.push(`cost ${cost}, owed ${owed}`);
    const gotNothing = (outcome === 'error' || outcome === 'refused') && gatewayLived && !sawContent && !clientGone.signal.aborted;
    if (gotNothing && cost !== 0n && !keyEnded) faults.push(`cost ${cost}, but its client was given an error and nothing else`);
  }
  return faults.map((fault) => `${story.requestId} (${outcome ?? 'cut off'}, ${script.ending}): ${fault}`);
}

/** Code of the error that the client got; undefined without one. */
export function readCode({ error }: RequestStory): string | undefined {
  return error instanceof GatewayError ? error.code : undefined;
}

/** Cost of the usage, within the hold. */
export function computeBill({ amount, price }: RequestStory, usage: BillableUsage): bigint {
  const cost = costByToken(usage, price);
  return cost < amount ? cost : amount;
}

/** The most that may be billed: the output by the larger of report and estimate, the prompt as counted or estimated, in full or cut. */
function mostOwed(story: RequestStory, keyEnded: boolean): bigint {
  const { script, price, producedTokens, upstreamReported, clientGone, promptTokensEstimate } = story;
  // A client that disconnects while the upstream reads the prompt pays for the prompt.
  if (producedTokens === 0 && !clientGone.signal.aborted && !keyEnded) return 0n;
  const outputTokens = upstreamReported ? countOutput(script, producedTokens) : producedTokens + (script.hides ? HIDDEN_TOKENS : 0);
  const { tier } = script.prompt;
  const estimated = { promptTokens: promptTokensEstimate, cachedTokens: 0, ...(tier !== undefined && { tier }) };
  const [one, other] = [script.prompt, estimated].map((prompt) => dearestPart({ ...prompt, outputTokens }, price)) as [bigint, bigint];
  return one > other ? one : other;
}

/** Cost of a reply that its upstream has counted: of as much of the prompt as the hold covers, and of the output within its cap. */
function costAsReported({ script, amount, price, promptTokensHeld }: RequestStory): bigint {
  const usage = { ...script.prompt, outputTokens: Math.min(countOutput(script, script.chunks), OUTPUT_TOKENS_MAX) };
  const costs = Array.from({ length: usage.promptTokens + 1 }, (_, tokens) => costByToken(cutPrompt(usage, tokens), price));
  return costs.findLast((cost) => usage.promptTokens <= promptTokensHeld || cost <= amount) ?? 0n;
}
