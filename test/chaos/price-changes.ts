import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { priceSchedule, priceShow } from '#contracts/scheduled-prices.js';
import type { Messaging } from '#messaging/messaging.js';
import { type ListPrices, parseListPrices } from '#money/list-prices.js';
import type { Price } from '#money/price.js';
import { parsePrice } from '#money/price-plan.js';
import type { Ask } from './bookkeeper.js';

/** Prices of config/catalog.yaml. */
const FIRST_PRICES: Record<string, ListPrices> = {
  'sim-fast': { inputUsdPerMTok: '0.15', cachedInputUsdPerMTok: '0.015', outputUsdPerMTok: '0.60' },
  'sim-reason': { inputUsdPerMTok: '0.55', cachedInputUsdPerMTok: '0.14', outputUsdPerMTok: '2.19' },
};
/** Sizes of a prompt after which later prices have a step. */
export const STEPS_ABOVE = [20, 40] as const;
/** Tiers of later prices, and one that none names. */
export const TIERS = ['flex', 'priority', 'scale'] as const;
/** Time from a change to its effect. */
const AHEAD_MS = 500;
/** Time until every gateway knows the price in force, without faults. */
const KNOWN_AFTER_MS = 2_000;

interface Change {
  model: string;
  price: Price;
  effectiveAt: number;
  /** From then on requests have a later price. */
  overAt: number;
}

/** Changes the prices of the models during faults, and knows in which time each price may be billed. */
export class PriceChanges {
  private readonly changes: Change[] = Object.entries(FIRST_PRICES).map(([model, price]) => ({
    ...{ model, price: parseListPrices(price), effectiveAt: 0, overAt: Number.POSITIVE_INFINITY },
  }));

  constructor(
    private readonly administrator: Messaging,
    private readonly ask: Ask,
  ) {}

  get count(): number {
    return this.changes.length - Object.keys(FIRST_PRICES).length;
  }

  /** Schedules a price of each model that was never used. Repeats it until it is answered or too late. */
  async change(): Promise<void> {
    await Promise.all(Object.keys(FIRST_PRICES).map((model) => this.changeOne(model)));
  }

  private async changeOne(model: string): Promise<void> {
    const price = makePrice(this.changes.length);
    const effectiveAt = Date.now() + AHEAD_MS;
    this.changes.push({ model, price: parseListPrices(price), effectiveAt, overAt: Number.POSITIVE_INFINITY });
    const request = { scheduledPriceId: randomUUID(), model, price, effectiveAt: new Date(effectiveAt).toISOString() };
    while (Date.now() < effectiveAt) {
      const answered = await this.administrator.request(priceSchedule, request).catch(() => undefined);
      if (answered) return;
      await delay(100);
    }
  }

  /** Call when all faults have ended. The prices before those in force are then over. */
  async endOlder(): Promise<void> {
    const { prices } = await this.ask(priceShow, {});
    const overAt = Date.now() + KNOWN_AFTER_MS;
    for (const model of Object.keys(FIRST_PRICES)) {
      const shown = prices.find((price) => price.model === model);
      const changes = this.changes.filter((change) => change.model === model);
      const inForce = changes.findIndex(({ price }) => shown && isDeepStrictEqual(price, parsePrice(shown.price)));
      if (inForce < 0) throw new Error(`the price of ${model} was never set: ${JSON.stringify(shown)}`);
      for (const older of changes.slice(0, inForce)) older.overAt = Math.min(older.overAt, overAt);
    }
  }

  /** True when a request of `reservedAt` may have this price. During faults a gateway that was cut off may know an older one. */
  isAllowed(model: string, price: Price, reservedAt: number): boolean {
    return this.changes.some(
      (change) =>
        change.model === model && change.effectiveAt <= reservedAt && reservedAt < change.overAt && isDeepStrictEqual(change.price, price),
    );
  }
}

/** Returns a price with steps, tiers and prices of cache writes. `number` decides its amounts and the kind of its steps. */
function makePrice(number: number): ListPrices {
  const [first, second] = STEPS_ABOVE;
  const step = { inputUsdPerMTok: dollars(20 + number), cachedInputUsdPerMTok: '0.02', cacheWriteUsdPerMTok: '0.40' };
  const steps: ListPrices['steps'] = [
    { above: first, reprices: number % 4 < 2 ? 'excess' : 'whole', ...step },
    { above: second, ...step, inputUsdPerMTok: '0.10', outputUsdPerMTok: '0.50' },
  ];
  const prices = { cachedInputUsdPerMTok: '0.015', cacheWriteUsdPerMTok: '0.30', cacheWrite1hUsdPerMTok: '0.50' };
  const usual = { ...prices, inputUsdPerMTok: dollars(15 + number), outputUsdPerMTok: '0.60' };
  return {
    ...{ ...usual, steps, requestUsd: '0.000001' },
    tiers: [
      { tier: TIERS[0], ...usual, outputUsdPerMTok: '0.30' },
      { tier: TIERS[1], ...usual, outputUsdPerMTok: '0.65', steps: steps.slice(1) },
    ],
  };
}

function dollars(cents: number): string {
  const digits = String(cents).padStart(3, '0');
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}
