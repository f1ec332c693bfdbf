import { setTimeout as delay } from 'node:timers/promises';
import type { Product, Wallet } from './adapters/adapter.ts';
import { Exchange } from './exchange.ts';
import type { Ask, FormatName, Reply } from './formats/format.ts';
import { FORMATS } from './formats/formats.ts';
import type { Model } from './models.ts';
import type { PriceList, Usage } from './money/terms.ts';
import type { Call } from './upstream/call.ts';
import type { Case, Script } from './upstream/case.ts';
import { ScriptedUpstream } from './upstream/scripted-upstream.ts';

const REQUEST_TIMEOUT_MS = 60_000;
const POLL_MS = 25;
/** Dollars in a new wallet, in pico-dollars, unless a row needs less. */
const PLENTY = 1_000_000_000_000_000n;

/** Dollars of a row. */
export interface Money {
  expectedPicoUsd: bigint;
  billedPicoUsd: bigint;
  /** On hold when the product had time to settle; null where it holds nothing. */
  heldPicoUsd: bigint | null;
}

/** Client, model and options of a request. */
export interface Sending {
  client: FormatName;
  model: Model;
  stream?: boolean;
  wallet?: Wallet | undefined;
  headers?: Record<string, string>;
  ask?: Partial<Ask>;
}

/** A request as it was sent. */
export interface SentRequest {
  url: string;
  key: string;
  headers: Record<string, string>;
  body: string;
  exchange: Exchange;
}

/** The upstream, the product and its clients, for one row. */
export class Bench {
  readonly upstream: ScriptedUpstream;
  readonly product: Product;
  /** The requests of the row, for its evidence. */
  readonly sent: SentRequest[] = [];
  /** A key for products without wallets. */
  private readonly freeKey = 'sk-no-wallet';
  private readonly cases: Case[] = [];

  constructor(upstream: ScriptedUpstream, product: Product) {
    this.upstream = upstream;
    this.product = product;
  }

  /** A new wallet, or undefined where the product has none. */
  async openWallet(picoUsd = PLENTY): Promise<Wallet | undefined> {
    return this.product.openWallet?.(picoUsd);
  }

  openCase(script: Script, truth: Usage, options?: { prices?: PriceList; blame?: 'client' | 'product' }): Case {
    const opened = this.upstream.open(script, truth, options);
    this.cases.push(opened);
    return opened;
  }

  /** Sends the prompt of a case. */
  send(opened: Case, sending: Sending): Exchange {
    return this.sendBody(sending, this.body(opened.prompt, sending));
  }

  sendBody({ client, model, wallet, headers = {} }: Sending, body: string): Exchange {
    const address = this.product.address(client, model);
    if (!address) throw new Error(`${client} to ${model.id} is not offered`);
    const format = FORMATS[client];
    const url = this.product.baseUrl + (address.path ?? format.path);
    const key = wallet?.key ?? this.freeKey;
    const allHeaders = { 'content-type': 'application/json', ...format.headers(key), ...address.headers, ...headers };
    const exchange = new Exchange(format, url, { headers: allHeaders, body, timeoutMs: REQUEST_TIMEOUT_MS });
    this.sent.push({ url, key, headers: allHeaders, body, exchange });
    return exchange;
  }

  /** The calls of the upstream in the order of the cases. */
  get calls(): readonly Call[] {
    return this.cases.flatMap(({ calls }) => calls);
  }

  body(prompt: string, { client, model, stream = true, ask = {} }: Sending): string {
    const address = this.product.address(client, model);
    const whole: Ask = { model: address?.model ?? model.id, turns: [{ role: 'user', text: prompt }], stream, outputTokensMax: 200, ...ask };
    return JSON.stringify({ ...FORMATS[client].ask(whole), ...address?.fields });
  }

  /** Waits until the wallet has nothing on hold, and compares its bill with what the cases owe. */
  async bill(wallet: Wallet | undefined, cases: readonly Case[], waitMs = this.product.waits.settledMs): Promise<Money | undefined> {
    await Promise.all(cases.map((one) => one.ended()));
    if (!wallet) return undefined;
    const expected = (): bigint => cases.reduce((sum, one) => sum + one.owedPicoUsd, 0n);
    const deadline = performance.now() + waitMs;
    for (;;) {
      const { spentPicoUsd, heldPicoUsd } = await wallet.read();
      const isDone = (heldPicoUsd ?? 0n) === 0n && spentPicoUsd === expected();
      if (isDone || performance.now() > deadline) return { expectedPicoUsd: expected(), billedPicoUsd: spentPicoUsd, heldPicoUsd };
      await delay(POLL_MS);
    }
  }
}

/** Runs `work` for each item, `atOnce` at a time. */
export async function inParallel<Item>(items: Iterable<Item>, atOnce: number, work: (item: Item) => Promise<void>): Promise<void> {
  const queue = items[Symbol.iterator]();
  const next = { [Symbol.iterator]: () => queue };
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const item of next) await work(item);
    }),
  );
}

/** A plain reply of the scripted model: `count` pieces of four tokens. */
export function textReply(count = 6, { prompt = 64, cached = 0 } = {}): { reply: Reply; truth: Usage } {
  const pieces = Array.from({ length: count }, (_, index) => `piece ${String(index).padStart(2, '0')} of it `.slice(0, 16).padEnd(16, '.'));
  const truth = { prompt, cached, output: count * 4, reasoning: 0 };
  return { reply: { parts: [{ kind: 'text', pieces }], finish: 'stop', usage: truth }, truth };
}
