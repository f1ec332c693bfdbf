import { setTimeout as delay } from 'node:timers/promises';
import { CLIENT_FORMATS, type FormatName } from '../chaos/client-format.js';
import { type Answer, type FaultStack, heard } from '../e2e/fault-stack.js';

/** Observation of the gateway by a tenant. Times are those of complete short requests, from the moment each was due. */
export interface Observation {
  requests: number;
  /** Number of failed requests, by kind of request and fault. */
  failed: Record<string, number>;
  p50Ms: number;
  p99Ms: number;
}

const FORMATS = Object.keys(CLIENT_FORMATS) as FormatName[];
/** Each format, plain and streamed. */
const KINDS = FORMATS.flatMap((format) => [true, false].map((stream) => ({ format, stream })));
/** The first token takes 40 ms, as at a fast upstream. */
const SHORT = { directives: 'ttft=40 tokens=12', outputTokens: 12 };
/** Takes a second. Sent one after the other, so that a stream runs at any moment of an attack. */
const LONG = { directives: 'rate=40 tokens=40', outputTokens: 40 };
const PATIENCE_MS = 20_000;
/**
 * Short requests in progress at once. Together with the long streams these are 7: the least share of an upstream's 256 sockets beside four
 * greedy accounts that were there first. So a slow machine delays the victim and does not make it greedy.
 */
const AT_ONCE_MAX = 4;

/** A tenant with a steady load: `perSecond` short requests in three formats, plain and streamed, and long streams in each format. */
export class Victim {
  constructor(
    private readonly stack: FaultStack,
    private readonly model: string,
    private readonly perSecond = 40,
  ) {}

  /** Sends requests until `ends` resolves, and returns when all replies have ended. */
  async observe(ends: Promise<unknown>): Promise<Observation> {
    let isOver = false;
    const over = ends.finally(() => (isOver = true));
    const failed: Observation['failed'] = {};
    const durationsMs: number[] = [];
    const ask = async (kind: (typeof KINDS)[number], size: typeof SHORT, dueAt = performance.now()): Promise<void> => {
      const fault = await this.ask(kind, size);
      const what = `${kind.format}, ${kind.stream ? 'streamed' : 'plain'}: ${fault}`;
      if (fault !== undefined) failed[what] = (failed[what] ?? 0) + 1;
      else if (size === SHORT) durationsMs.push(performance.now() - dueAt);
    };
    const streams = FORMATS.map(async (format) => {
      while (!isOver) await ask({ format, stream: true }, LONG);
    });
    const requests = new Set<Promise<void>>();
    let dueAt = performance.now();
    for (let count = 0; !isOver; count++) {
      while (requests.size >= AT_ONCE_MAX) await Promise.race(requests);
      const request = ask(KINDS[count % KINDS.length] as (typeof KINDS)[number], SHORT, dueAt).then(() => void requests.delete(request));
      requests.add(request);
      dueAt += 1_000 / this.perSecond;
      await delay(dueAt - performance.now());
    }
    await Promise.all([over, ...streams, ...requests]);
    durationsMs.sort((a, b) => a - b);
    return { requests: durationsMs.length, failed, p50Ms: percentile(durationsMs, 50), p99Ms: percentile(durationsMs, 99) };
  }

  /** Resolves when a request succeeds, which has to wait for everything queued before it. */
  async untilServed(deadlineMs: number): Promise<void> {
    const deadline = performance.now() + deadlineMs;
    let fault: string | undefined;
    do {
      fault = await this.ask({ format: 'chat', stream: false }, SHORT);
      if (fault === undefined) return;
      await delay(100);
    } while (performance.now() < deadline);
    throw new Error(`the victim is not served ${deadlineMs} ms after an attack: ${fault}`);
  }

  /** Returns the fault of the reply, if any. */
  private async ask({ format, stream }: (typeof KINDS)[number], { directives, outputTokens }: typeof SHORT): Promise<string | undefined> {
    try {
      const signal = AbortSignal.timeout(PATIENCE_MS);
      const answer = await this.stack.ask(format, this.model, { text: `[[sim ${directives}]]`, stream, outputTokensMax: 500, signal });
      return findFault(format, stream, answer, outputTokens);
    } catch (error) {
      return `no answer: ${String(error)}`;
    }
  }
}

function findFault(format: FormatName, stream: boolean, answer: Answer, outputTokens: number): string | undefined {
  if (!stream && answer.status === 200) {
    const usage = answer.isBroken ? undefined : CLIENT_FORMATS[format].readUsage(JSON.parse(answer.text));
    return usage?.outputTokens === outputTokens ? undefined : 'broken off';
  }
  const { ended, text, code } = heard(format, answer);
  return ended === 'complete' && text.length === 4 * outputTokens ? undefined : `${answer.status} ${ended} ${code ?? ''}`;
}

/** Percentile by nearest rank. */
function percentile(sorted: readonly number[], percent: number): number {
  return sorted[Math.ceil((sorted.length * percent) / 100) - 1] ?? Number.POSITIVE_INFINITY;
}
