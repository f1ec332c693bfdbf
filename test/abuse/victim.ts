import { setTimeout as delay } from 'node:timers/promises';
import { CLIENT_FORMATS, type FormatName } from '../chaos/client-format.js';
import { type Answer, type FaultStack, heard } from '../e2e/fault-stack.js';

/** What a tenant saw of the gateway for a while: every request that did not get its whole reply, and how long the others took. */
export interface Observation {
  requests: number;
  failed: string[];
  p50Ms: number;
  p99Ms: number;
}

const FORMATS = Object.keys(CLIENT_FORMATS) as FormatName[];
/** Each format, plain and streamed. */
const KINDS = FORMATS.flatMap((format) => [true, false].map((stream) => ({ format, stream })));
/** The upstream takes 40 ms for its first token, as a fast one does. */
const SHORT = { directives: 'ttft=40 tokens=12', outputTokens: 12 };
/** Six seconds, so that streams run when an attack begins. */
const LONG = { directives: 'rate=20 tokens=120', outputTokens: 120 };
const PATIENCE_MS = 20_000;

/** A tenant with a steady load: `perSecond` short requests in three formats, plain and streamed, and three long streams at a time. */
export class Victim {
  constructor(
    private readonly stack: FaultStack,
    private readonly model: string,
    private readonly perSecond = 30,
  ) {}

  /** Sends requests until `ends` resolves, however long the replies take, and returns when all of them have ended. */
  async observe(ends: Promise<unknown>): Promise<Observation> {
    let isOver = false;
    const over = ends.finally(() => (isOver = true));
    const failed: string[] = [];
    const durationsMs: number[] = [];
    const ask = async (kind: (typeof KINDS)[number], size: typeof SHORT): Promise<void> => {
      const begunAt = performance.now();
      const fault = await this.ask(kind, size);
      if (fault !== undefined) failed.push(`${kind.format}, ${kind.stream ? 'streamed' : 'plain'}: ${fault}`);
      else if (size === SHORT) durationsMs.push(performance.now() - begunAt);
    };
    const requests: Promise<void>[] = FORMATS.map((format) => ask({ format, stream: true }, LONG));
    for (let count = 0; !isOver; count++) {
      requests.push(ask(KINDS[count % KINDS.length] as (typeof KINDS)[number], SHORT));
      await delay(1_000 / this.perSecond);
    }
    await Promise.all([over, ...requests]);
    durationsMs.sort((a, b) => a - b);
    return { requests: requests.length, failed, p50Ms: percentile(durationsMs, 50), p99Ms: percentile(durationsMs, 99) };
  }

  /** Returns what is wrong with the reply, if anything is. */
  private async ask({ format, stream }: (typeof KINDS)[number], { directives, outputTokens }: typeof SHORT): Promise<string | undefined> {
    try {
      const signal = AbortSignal.timeout(PATIENCE_MS);
      const answer = await this.stack.ask(format, this.model, { text: `[[sim ${directives}]]`, stream, outputTokensMax: 500, signal });
      return faultOf(format, stream, answer, outputTokens);
    } catch (error) {
      return `no answer: ${String(error)}`;
    }
  }
}

function faultOf(format: FormatName, stream: boolean, answer: Answer, outputTokens: number): string | undefined {
  if (answer.status !== 200) return `${answer.status} ${answer.text.slice(0, 200)}`;
  if (!stream) {
    const usage = answer.isBroken ? undefined : CLIENT_FORMATS[format].usageOf(JSON.parse(answer.text));
    return usage?.outputTokens === outputTokens ? undefined : `broken off: ${answer.text.slice(-200)}`;
  }
  const { ended, text, code } = heard(format, answer);
  return ended === 'complete' && text.length === 4 * outputTokens ? undefined : `${ended} after ${text.length} characters ${code ?? ''}`;
}

/** By nearest rank. */
function percentile(sorted: readonly number[], percent: number): number {
  return sorted[Math.ceil((sorted.length * percent) / 100) - 1] ?? Number.POSITIVE_INFINITY;
}
