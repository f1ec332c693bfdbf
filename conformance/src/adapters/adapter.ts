import type { FormatName } from '../formats/format.ts';
import type { Model } from '../models.ts';
import type { PriceList } from '../money/terms.ts';

/** Addresses and settings that an adapter is given. */
export interface Surroundings {
  /** Origin of the scripted upstream: see `routeUrl`. */
  upstreamOrigin: string;
  models: readonly Model[];
  prices: PriceList;
  /** A folder of its own, which is removed afterwards. */
  folder: string;
  /** Values of `--set name=value`. */
  settings: Record<string, string>;
  say(line: string): void;
}

/** A product under test. An ability that is absent is not offered. */
export interface Adapter {
  name: string;
  /** One sentence for the report: version, and how it is run. */
  about: string;
  /** Set where the adapter was written from documents, and nobody has run it. */
  notRunHere?: string;
  /** Reasons for what is not offered, by the name of the ability. */
  reasons?: Partial<Record<Ability, string>>;
  start(surroundings: Surroundings): Promise<Product>;
}

/** `wallet`: a balance and what was spent; `kill`: kill -9 of its processes; `retries`: a second route. */
export type Ability = 'wallet' | 'budget' | 'price change' | 'kill' | 'repeated settlement' | 'second route' | 'hidden output';

/** Name and headers with which a client asks for a model. */
export interface Address {
  model: string;
  /** Besides those of the format. */
  headers?: Record<string, string>;
  /** Instead of that of the format. */
  path?: string;
  /** Fields of the body, besides those of the format. */
  fields?: Record<string, unknown>;
}

/** An account of its own, with a key. */
export interface Wallet {
  key: string;
  read(): Promise<Funds>;
}

interface Funds {
  spentPicoUsd: bigint;
  /** Money on hold for running requests; null where the product holds none. */
  heldPicoUsd: bigint | null;
}

/** A running product. */
export interface Product {
  /** Without `/v1`. */
  baseUrl: string;
  version?: string;
  /** Returns the address of a model for a client format; undefined where the product does not speak both. */
  address(client: FormatName, model: Model): Address | undefined;
  /** Creates an account that can spend `picoUsd`. */
  openWallet?(picoUsd: bigint): Promise<Wallet>;
  /** Limits what a wallet may spend in a month, beside its balance. */
  setBudget?(wallet: Wallet, picoUsd: bigint): Promise<void>;
  /** Resolves when requests that start from now on have the prices. */
  changePrices?(model: Model, prices: PriceList): Promise<void>;
  /** Sends the settlement of a finished request again, inside the product. */
  repeatSettlement?(wallet: Wallet, requestId: string): Promise<void>;
  /** Names of the processes that can be killed. */
  processes?: readonly string[];
  /** Kills a process with SIGKILL, and resolves when the product is ready again. */
  kill?(name: string): Promise<void>;
  waits: Waits;
  stop(): Promise<void>;
}

/** Times that the product states, in milliseconds. */
interface Waits {
  /** From the end of a request until its bill is there and nothing is on hold. */
  settledMs: number;
  /** From the death of a process until the others have noticed. */
  noticedMs: number;
  /** Between two records of what a running request has used. */
  meteredMs: number;
  /** From the death of all that knew a request until its bill is there. */
  recoveredMs: number;
}
