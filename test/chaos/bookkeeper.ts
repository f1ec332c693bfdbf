import { randomUUID } from 'node:crypto';
import { adjustmentCreate, refundCreate, topupCreate } from '#contracts/billing/money.js';
import type { Endpoint } from '#contracts/endpoint.js';

export type Ask = <Request extends object, Reply>(endpoint: Endpoint<Request, Reply>, request: Request) => Promise<Reply>;

/** Moves money during faults: top-ups, refunds and adjustments. Repeats each with the same id until it is answered. */
export class Bookkeeper {
  /** Sum of all movements in pico-USD. */
  moved = 0n;
  movements = 0;

  constructor(
    private readonly accountId: string,
    private readonly ask: Ask,
  ) {}

  /** Top-up of $3, refund of $1, adjustments of -50 cents and of one pico-dollar. */
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
