import { ServiceError } from '#contracts/service-error.js';
import { FairShares } from './fair-shares.js';

export interface AdmissionLimits {
  /** Requests and streams in progress; more are refused with `unavailable`. Default 20,000. */
  runningMax?: number;
  /**
   * Bytes of the requests above 64 KiB in progress. Callers that `sharedBy` distinguishes get fair shares; more is refused with
   * `unavailable`. Default: no limit.
   */
  largeRequestBytesMax?: number;
}

/** A request or stream in progress. */
export interface Run {
  readonly startedAt: number;
  /** Caller whose share it counts in. */
  holder: string | undefined;
  /** Bytes in the share of large requests; 0 for a small request. */
  largeBytes: number;
}

const RUNNING_MAX = 20_000;
const SMALL_REQUEST_BYTES_MAX = 64 * 1024;

/** The requests and streams in progress of one service, and the shares of its callers. */
export class Admission {
  running = 0;
  private readonly shares = new FairShares();
  private readonly runningMax: number;
  private readonly largeShares = new FairShares();
  private readonly largeRequestBytesMax: number;
  private whenIdle: (() => void) | undefined;

  constructor({ runningMax = RUNNING_MAX, largeRequestBytesMax = Number.POSITIVE_INFINITY }: AdmissionLimits) {
    this.runningMax = runningMax;
    this.largeRequestBytesMax = largeRequestBytesMax;
  }

  begin(startedAt: number): Run {
    this.running++;
    return { startedAt, holder: undefined, largeBytes: 0 };
  }

  end({ holder, largeBytes }: Run): void {
    if (holder !== undefined) this.shares.add(holder, -1);
    if (holder !== undefined && largeBytes > 0) this.largeShares.add(holder, -largeBytes);
    if (--this.running === 0) this.whenIdle?.();
  }

  /** Throws `unavailable` when too many requests are in progress, counting the one that asks. */
  checkLoad(): void {
    if (this.running > this.runningMax) throw new ServiceError('unavailable', 'The service is overloaded.');
  }

  /** Counts a run in the share of its caller. Throws `unavailable` when the share is used up. */
  takeShare(run: Run, holder: string | undefined, bytes: number): void {
    if (holder === undefined) return;
    if (!this.shares.admits(holder, this.runningMax))
      throw new ServiceError('unavailable', 'The caller has too many requests in progress.');
    if (bytes > SMALL_REQUEST_BYTES_MAX) this.takeLargeShare(run, holder, bytes);
    this.shares.add(holder, 1);
    run.holder = holder;
  }

  async idle(): Promise<void> {
    if (this.running > 0) await new Promise<void>((resolve) => (this.whenIdle = resolve));
  }

  private takeLargeShare(run: Run, holder: string, bytes: number): void {
    const { largeShares, largeRequestBytesMax } = this;
    if (!largeShares.admits(holder, largeRequestBytesMax) || largeShares.inUse + bytes > largeRequestBytesMax)
      throw new ServiceError('unavailable', 'Too many large requests are in progress.');
    largeShares.add(holder, bytes);
    run.largeBytes = bytes;
  }
}
