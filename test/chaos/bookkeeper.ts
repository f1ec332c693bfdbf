import { randomUUID } from 'node:crypto';
import { adjustmentCreate, refundCreate, topupCreate } from '#contracts/billing/money.js';
import type { Endpoint } from '#contracts/endpoint.js';

type Ask = <Request extends object, Reply>(endpoint: Endpoint<Request, Reply>, request: Request) => Promise<Reply>;

/**
 * Moves money while everything else goes wrong: pays in, takes back, corrects, and asks again under the same name until it is answered,
 * however often that was done already.
 */
export class Bookkeeper {
  /** What all that has moved comes to, in pico-USD. */
  moved = 0n;
  movements = 0;

  constructor(
    private readonly accountId: string,
    private readonly ask: Ask,
  ) {}

  /** In one after the other: $3, $1 of it back, a correction of 50 cents down, and one of a pico-dollar up. */
  async work(): Promise<void> {
    const { accountId, ask } = this;
    const paymentId = randomUUID();
    await ask(topupCreate, { accountId, usd: '3', paymentId });
    this.note(3_000_000_000_000n);
    await ask(refundCreate, { accountId, refundId: randomUUID(), paymentId, usd: '1' });
    this.note(-1_000_000_000_000n);
    await ask(adjustmentCreate, { accountId, adjustmentId: randomUUID(), usd: '-0.5', reason: 'nemesis' });
    this.note(-500_000_000_000n);
    await ask(adjustmentCreate, { accountId, adjustmentId: randomUUID(), usd: '0.000000000001', reason: 'nemesis' });
    this.note(1n);
  }

  private note(amount: bigint): void {
    this.moved += amount;
    this.movements += 1;
  }
}
