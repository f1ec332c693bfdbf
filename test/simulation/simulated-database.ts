import type { HoldRenewal } from '#contracts/billing/holds.js';
import type { HoldTimes } from '../../apps/billing/src/batch/batch.js';
import { SerialModel } from '../../apps/billing/test/serial-model.js';
import type { Process } from './network.js';
import type { Random } from './random.js';

const NEVER = new Promise<never>(() => undefined);

/** Postgres with the serial model as its tables. A transaction takes time and commits at one moment; a fault before or after loses it or its answer. */
export class SimulatedDatabase {
  isUp = true;
  readonly model: SerialModel;
  private epoch = 0;

  constructor(
    readonly times: HoldTimes,
    private readonly random: Random,
  ) {
    this.model = new SerialModel(times);
  }

  goDown(): void {
    this.isUp = false;
    this.epoch++;
  }

  comeBack(): void {
    this.isUp = true;
  }

  /**
   * Runs `work` as one commit for `process`. Throws like the driver when the server is down; the caller then does not know whether it
   * committed. `before` and `after` run around the commit.
   */
  async commit<Result>(process: Process, work: () => Result, before: () => void, after: () => void): Promise<Result> {
    const { epoch } = this;
    await this.connect();
    before();
    if (!process.isAlive) return NEVER; // its session ends without a commit
    if (epoch !== this.epoch) throw connectionLost();
    const result = work();
    after();
    await this.hop();
    if (epoch !== this.epoch) throw connectionLost();
    return process.isAlive ? result : NEVER;
  }

  async connect(): Promise<void> {
    await this.hop();
    if (!this.isUp) throw connectionLost();
  }

  /** Same behaviour as `renewHolds`, and as `renewItems` for the holds of a service. */
  renew(renewals: readonly HoldRenewal[], readings: Map<string, number>): boolean[] {
    return renewals.map(({ holdId, sequence, usage, service, leaseMs = this.times.leaseMs }) => {
      const hold = this.model.holds.get(holdId);
      if (hold === undefined || hold.service !== service) return false;
      hold.leaseUntil = Date.now() + leaseMs;
      if (sequence > (readings.get(holdId) ?? 0)) {
        readings.set(holdId, sequence);
        hold.meter = usage;
      }
      return true;
    });
  }

  private hop(): Promise<void> {
    return new Promise((resolve) =>
      setTimeout(resolve, this.random.chance(0.02) ? this.random.between(5, 100) : this.random.between(0.2, 2)),
    );
  }
}

function connectionLost(): Error {
  return Object.assign(new Error('terminating connection'), { code: '57P01' });
}
