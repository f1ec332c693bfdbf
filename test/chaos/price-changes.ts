import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { priceSchedule, priceShow } from '#contracts/scheduled-prices.js';
import type { Messaging } from '#messaging/messaging.js';
import { parseListPrices } from '#money/list-prices.js';
import type { Price } from '#money/price.js';
import type { Ask } from './bookkeeper.js';
import { PRICES } from './chaos-client.js';

const MODEL = 'sim-fast';
/** Time from a change to its effect. */
const AHEAD_MS = 500;
/** Time until every gateway knows the price in force, without faults. */
const KNOWN_AFTER_MS = 2_000;

interface Change {
  price: Price;
  effectiveAt: number;
  /** From then on requests have a later price. */
  overAt: number;
}

/** Changes the price of `sim-fast` during faults, and knows in which time each price may be billed. */
export class PriceChanges {
  private readonly changes: Change[] = [{ price: PRICES[MODEL] as Price, effectiveAt: 0, overAt: Number.POSITIVE_INFINITY }];

  constructor(
    private readonly administrator: Messaging,
    private readonly ask: Ask,
  ) {}

  get count(): number {
    return this.changes.length - 1;
  }

  /** Schedules a price that was never used. Repeats it until it is answered or too late. */
  async change(): Promise<void> {
    const { changes, administrator } = this;
    const cents = `${changes.length + 15}`.padStart(3, '0');
    const inputUsdPerMTok = `${cents.slice(0, -2)}.${cents.slice(-2)}`;
    const writes = { cacheWriteUsdPerMTok: '0.30', cacheWrite1hUsdPerMTok: '0.50' };
    const price = { inputUsdPerMTok, cachedInputUsdPerMTok: '0.015', ...writes, outputUsdPerMTok: '0.60' };
    const effectiveAt = Date.now() + AHEAD_MS;
    changes.push({
      price: parseListPrices(price),
      effectiveAt,
      overAt: Number.POSITIVE_INFINITY,
    });
    const request = { scheduledPriceId: randomUUID(), model: MODEL, price, effectiveAt: new Date(effectiveAt).toISOString() };
    while (Date.now() < effectiveAt) {
      const answered = await administrator.request(priceSchedule, request).catch(() => undefined);
      if (answered) return;
      await delay(100);
    }
  }

  /** Call when all faults have ended. The prices before the one in force are then over. */
  async endOlder(): Promise<void> {
    const { prices } = await this.ask(priceShow, {});
    const shown = prices.find(({ model }) => model === MODEL)?.price.inputPicoUsd ?? '';
    const overAt = Date.now() + KNOWN_AFTER_MS;
    const inForce = this.changes.findIndex(({ price }) => `${price.inputPicoUsd}` === shown);
    if (inForce < 0) throw new Error(`the price ${shown} was never set`);
    for (const older of this.changes.slice(0, inForce)) older.overAt = Math.min(older.overAt, overAt);
  }

  /** True when a request of `reservedAt` may have this price. During faults a gateway that was cut off may know an older one. */
  isAllowed(model: string, price: Price, reservedAt: number): boolean {
    if (model !== MODEL) return isSame(PRICES[model] as Price, price);
    return this.changes.some((change) => change.effectiveAt <= reservedAt && reservedAt < change.overAt && isSame(change.price, price));
  }
}

function isSame(one: Price, other: Price): boolean {
  return (
    one.inputPicoUsd === other.inputPicoUsd &&
    one.cachedInputPicoUsd === other.cachedInputPicoUsd &&
    one.cacheWritePicoUsd === other.cacheWritePicoUsd &&
    one.cacheWrite1hPicoUsd === other.cacheWrite1hPicoUsd &&
    one.outputPicoUsd === other.outputPicoUsd
  );
}
