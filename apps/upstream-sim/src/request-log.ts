import type { IncomingHttpHeaders } from 'node:http';

const RECORDED_MAX = 100;

interface RecordedRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: unknown;
}

/** `started` = `finished` + `aborted` + `broken` + `open`, at every moment. Generation requests only. */
interface RequestStats {
  started: number;
  /** Answered to the end, errors included. */
  finished: number;
  /** The client disconnected before the end. */
  aborted: number;
  /** Broken off by a directive. */
  broken: number;
  open: number;
}

/** Counts requests, and keeps the newest ones if `recording`. */
export class RequestLog {
  private counts = { started: 0, finished: 0, aborted: 0, broken: 0 };
  private requests: RecordedRequest[] = [];

  constructor(private readonly recording: boolean) {}

  start(): void {
    this.counts.started++;
  }

  end(how: 'finished' | 'aborted' | 'broken'): void {
    this.counts[how]++;
  }

  /** Calls `request` only if requests are recorded. */
  record(request: () => RecordedRequest): void {
    if (!this.recording) return;
    this.requests.push(request());
    if (this.requests.length > RECORDED_MAX) this.requests.shift();
  }

  /** The newest last. */
  recorded(limit = RECORDED_MAX): RecordedRequest[] {
    return limit > 0 ? this.requests.slice(-limit) : [];
  }

  clear(): void {
    this.requests = [];
  }

  stats(): RequestStats {
    const { started, finished, aborted, broken } = this.counts;
    return { ...this.counts, open: started - finished - aborted - broken };
  }
}
