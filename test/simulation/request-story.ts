import type { Attribution } from '#contracts/billing/attribution.js';
import { GatewayError } from '#inference/errors.js';
import type { Usage } from '#inference/usage.js';
import type { Price } from '#money/price.js';
import { reportedUsage } from '#testing/token-usage.js';
import type { InferenceRecord } from '../../apps/gateway/src/pipeline/run-inference.js';
import type { PlannedFault } from './crash-matrix.js';
import { type GatewayNode, MODEL, type ProxyNode, type Settler } from './nodes.js';
import { HIDDEN_TOKENS, PROMPT_TOKENS, type Script } from './simulated-upstream.js';

/** Reported usage of 0 tokens, as a base. */
export const REPORTED: Usage = reportedUsage(0, 0);

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
  /** The key that it uses. */
  keyId: string | undefined;
  holdId: string | undefined;
  heldAt = 0;
  amount = 0n;
  price: Price = MODEL.price;
  /** Tokens of its settlement in time, which no late one has replaced. */
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
    return { user: `user-${this.index % 2}`, 'tag:team': `team-${this.index % 3}` };
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
  const { holdId, record, outcome, clientGone, sawContent } = story;
  const gatewayLived = story.gateway?.process.isAlive === true;
  const faults: string[] = [];
  const code = readCode(story);
  if (code === 'insufficient_balance' && !fundsAreScarce) faults.push('it was refused, and there is money');
  if (code === 'invalid_api_key' && !keyEnded) faults.push('it was refused, and its key is valid');
  if (gatewayLived && outcome === undefined) faults.push('its gateway lives and never answered');
  if (holdId === undefined) {
    if (outcome === 'completed') faults.push('completed without a hold');
  } else if (cost === undefined) {
    faults.push('its hold was never settled');
  } else {
    if (cost > story.amount) faults.push(`cost ${cost}, held ${story.amount}`);
    if (cost > mostOwed(story, keyEnded)) faults.push(`cost ${cost}, but the upstream had given ${story.producedTokens} tokens`);
    const owed = computeCost(record.usage, story);
    // A late settlement writes off missing money. No request costs more than its reported usage.
    const isWrong = cost > owed || (cost < owed && !fundsAreScarce);
    if (outcome === 'completed' && gatewayLived && isWrong) faults.push(`cost ${cost}, owed ${owed}`);
    const gotNothing = (outcome === 'error' || outcome === 'refused') && gatewayLived && !sawContent && !clientGone.signal.aborted;
    if (gotNothing && cost !== 0n && !keyEnded) faults.push(`cost ${cost}, but its client was given an error and nothing else`);
  }
  return faults.map((fault) => `${story.requestId} (${outcome ?? 'cut off'}, ${story.script.ending}): ${fault}`);
}

/** Code of the error that the client got; undefined without one. */
export function readCode({ error }: RequestStory): string | undefined {
  return error instanceof GatewayError ? error.code : undefined;
}

/** Cost of the usage, within the hold. */
export function computeBill(story: RequestStory, usage: Usage): bigint {
  return computeCost(usage, story);
}

/** Cost of the upstream's output, at the larger of report and estimate. */
function mostOwed(story: RequestStory, keyEnded: boolean): bigint {
  const { script, producedTokens, upstreamReported, clientGone } = story;
  // A client that disconnects while the upstream reads the prompt pays for the prompt.
  if (producedTokens === 0 && !clientGone.signal.aborted && !keyEnded) return 0n;
  const shown = script.ending === 'more than asked for' && upstreamReported ? 1_000_000 : producedTokens;
  const outputTokens = shown + (script.hides ? HIDDEN_TOKENS : 0);
  return computeCost({ ...REPORTED, promptTokens: PROMPT_TOKENS + 100, outputTokens }, story);
}

function computeCost(usage: Usage | undefined, { amount, price }: RequestStory): bigint {
  if (usage === undefined || usage.promptTokens + usage.outputTokens === 0) return 0n;
  const { inputPicoUsd, cacheWritePicoUsd = 0n, cacheWrite1hPicoUsd = 0n, outputPicoUsd, requestPicoUsd = 0n } = price;
  const { promptTokens, cacheWriteTokens = 0, cacheWrite1hTokens = 0, outputTokens } = usage;
  const written = BigInt(cacheWriteTokens) * cacheWritePicoUsd + BigInt(cacheWrite1hTokens) * cacheWrite1hPicoUsd;
  const plain = BigInt(promptTokens - cacheWriteTokens - cacheWrite1hTokens) * inputPicoUsd;
  const cost = requestPicoUsd + plain + written + BigInt(outputTokens) * outputPicoUsd;
  return cost < amount ? cost : amount;
}
