import { BYTES_PER_TOKEN, owedFor, PRICES, type PriceList, type Usage } from '../money/terms.ts';
import type { Call } from './call.ts';

/** Answers one call. It is run for each call of its case. */
export type Script = (call: Call) => Promise<void> | void;

const FILLER = 'The quick brown fox jumps over the lazy dog. ';

/** A script, with all calls that ran it and what they owe. */
export class Case {
  readonly id: string;
  readonly calls: Call[] = [];
  readonly truth: Usage;
  private readonly script: Script;
  private readonly prices: PriceList;
  private readonly blame: 'client' | 'product';
  private readonly waiting: (() => void)[] = [];

  constructor(
    id: string,
    script: Script,
    truth: Usage,
    { prices = PRICES, blame = 'client' }: { prices?: PriceList; blame?: 'client' | 'product' },
  ) {
    this.id = id;
    this.script = script;
    this.truth = truth;
    this.prices = prices;
    this.blame = blame;
  }

  /** The prompt, with the marker: exactly as many bytes as `truth.prompt` tokens have. */
  get prompt(): string {
    const marker = `[case ${this.id}] `;
    const length = this.truth.prompt * BYTES_PER_TOKEN;
    return (marker + FILLER.repeat(Math.ceil(length / FILLER.length))).slice(0, Math.max(length, marker.length));
  }

  async run(call: Call): Promise<void> {
    this.calls.push(call);
    for (const wake of this.waiting.splice(0)) wake();
    await this.script(call);
  }

  /** Resolves when the upstream has been called. */
  async called(count = 1): Promise<void> {
    while (this.calls.length < count) await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  /** Resolves when no call is open. */
  async ended(): Promise<void> {
    await Promise.all(this.calls.map((call) => call.closed));
  }

  /** The charge of all calls. */
  get owedPicoUsd(): bigint {
    return this.calls.reduce((sum, call) => sum + owedFor(call, this.truth, this.prices, this.blame), 0n);
  }
}
