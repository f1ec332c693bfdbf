import type { IncomingHttpHeaders } from 'node:http';

const RECORDED_MAX = 100;

export interface RecordedRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: unknown;
}

/** `started` = `finished` + `aborted` + `broken` + `open`, at every moment. Generation requests only. */
export interface RequestStats {
  started: number;
  /** Answered to the end, errors included. */
  finished: number;
  /** Left by the client before the end. */
  aborted: number;
  /** Broken off here because a directive said so. */
  broken: number;
  open: number;
}

/** Counts requests, and keeps the newest when told to record. */
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

  /** Asks for the request only when it is kept. */
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
