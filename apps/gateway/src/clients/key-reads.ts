import { GatewayError } from '#inference/errors.js';

/** Reads that one key may have at once. */
const AT_ONCE_MAX = 2;
const RETRY_AFTER_SECONDS = 1;

/** Limits the reads of the journal that one key has at once in this replica. Callers of the same read count once: they are joined. */
export class KeyReads {
  /** Callers by read, of each key that reads now. */
  private readonly reading = new Map<string, Map<string, number>>();

  /** @throws {GatewayError} `concurrency_limit` with `Retry-After` */
  async run<Reply>(keyId: string, name: string, read: () => Promise<Reply>): Promise<Reply> {
    const reads = this.reading.get(keyId) ?? new Map<string, number>();
    const callers = reads.get(name) ?? 0;
    if (callers === 0 && reads.size >= AT_ONCE_MAX) throw tooMany();
    reads.set(name, callers + 1);
    this.reading.set(keyId, reads);
    try {
      return await read();
    } finally {
      this.leave(keyId, reads, name);
    }
  }

  private leave(keyId: string, reads: Map<string, number>, name: string): void {
    const callers = (reads.get(name) ?? 1) - 1;
    if (callers > 0) reads.set(name, callers);
    else reads.delete(name);
    if (reads.size === 0) this.reading.delete(keyId);
  }
}

function tooMany(): GatewayError {
  const message = `This key has ${AT_ONCE_MAX} reads of usage or requests in progress. Please try again in ${RETRY_AFTER_SECONDS}s.`;
  return new GatewayError('concurrency_limit', message, { retryAfterSeconds: RETRY_AFTER_SECONDS });
}
