import type { Usage } from '#inference/usage.js';
import type { InferenceRecord } from '../../apps/gateway/src/pipeline/run-inference.js';
import type { PlannedFault } from './crash-matrix.js';
import { type GatewayNode, MODEL, type ProxyNode, type Settler } from './nodes.js';
import { HIDDEN_TOKENS, PROMPT_TOKENS, type Script } from './simulated-upstream.js';

/** A report of no tokens, to be filled in. */
export const REPORTED: Usage = {
  promptTokens: 0,
  cachedTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  promptSource: 'reported',
  outputSource: 'reported',
};

/** One client's request, as the client and an all-knowing observer see it. */
export class RequestStory {
  readonly record: InferenceRecord = {};
  readonly clientGone = new AbortController();
  fault: PlannedFault | undefined;
  /** Planned for after it. */
  nextFault: PlannedFault | undefined;
  gateway: GatewayNode | undefined;
  proxy: ProxyNode | undefined;
  holdId: string | undefined;
  amount = 0n;
  promptTokensEstimate = 0;
  /** Tokens that left the upstream: nothing beyond them may ever be billed. */
  producedTokens = 0;
  upstreamReported = false;
  sawContent = false;
  outcome: 'completed' | 'error' | 'left' | 'refused' | undefined;
  usage: Usage | undefined;
  /** Who settled it; after the reaper it may be settled once more. */
  readonly settledBy: Settler[] = [];
  error: unknown;

  constructor(
    readonly index: number,
    readonly script: Script,
  ) {}

  get requestId(): string {
    return `request-${this.index}`;
  }
}

/** What of a request's end goes against the rules. `cost` is what was charged for it; undefined: it was never settled. */
export function judge(story: RequestStory, cost: bigint | undefined, fundsAreScarce: boolean): string[] {
  const { holdId, record, outcome, clientGone, sawContent } = story;
  const gatewayLived = story.gateway?.process.isAlive === true;
  const faults: string[] = [];
  if (gatewayLived && outcome === undefined) faults.push('its gateway lives and never answered');
  if (holdId === undefined) {
    if (outcome === 'completed') faults.push('completed without a hold');
  } else if (cost === undefined) {
    faults.push('its hold was never settled');
  } else {
    if (cost > story.amount) faults.push(`cost ${cost}, held ${story.amount}`);
    if (cost > mostOwed(story)) faults.push(`cost ${cost}, but the upstream had given ${story.producedTokens} tokens`);
    const owed = costOf(record.usage, story.amount);
    // What a late settlement does not find is written off; nobody ever pays more than the reply said.
    const isWrong = cost > owed || (cost < owed && !fundsAreScarce);
    if (outcome === 'completed' && gatewayLived && isWrong) faults.push(`cost ${cost}, owed ${owed}`);
    const gotNothing = (outcome === 'error' || outcome === 'refused') && gatewayLived && !sawContent && !clientGone.signal.aborted;
    if (gotNothing && cost !== 0n) faults.push(`cost ${cost}, but its client was given an error and nothing else`);
  }
  return faults.map((fault) => `${story.requestId} (${outcome ?? 'cut off'}, ${story.script.ending}): ${fault}`);
}

/** What a request with this usage owes, within its hold. */
export function billOf({ amount }: RequestStory, usage: Usage): bigint {
  return costOf(usage, amount);
}

/** What the upstream gave, at the dearer of its report and our estimate. */
function mostOwed({ script, producedTokens, upstreamReported, amount, clientGone }: RequestStory): bigint {
  // Who leaves while the upstream reads the prompt pays for that.
  if (producedTokens === 0 && !clientGone.signal.aborted) return 0n;
  const shown = script.ending === 'more than asked for' && upstreamReported ? 1_000_000 : producedTokens;
  const outputTokens = shown + (script.hides ? HIDDEN_TOKENS : 0);
  return costOf({ ...REPORTED, promptTokens: PROMPT_TOKENS + 100, outputTokens }, amount);
}

function costOf(usage: Usage | undefined, amount: bigint): bigint {
  if (usage === undefined) return 0n;
  const cost = BigInt(usage.promptTokens) * MODEL.price.inputPicoUsd + BigInt(usage.outputTokens) * MODEL.price.outputPicoUsd;
  return cost < amount ? cost : amount;
}
