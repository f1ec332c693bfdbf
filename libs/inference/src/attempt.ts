/** One call of an upstream for a request. Whole milliseconds. */
export interface Attempt {
  /** Id of the upstream in the catalog. */
  upstream: string;
  /** Start, since the inference-proxy took the request. */
  startMs: number;
  /** Head of the reply, also that of an error. Absent: none came. */
  firstByteMs?: number;
  /** Absent: the call still ran. */
  endMs?: number;
  /** Kind of the failure. Absent: the call completed, or was cancelled. */
  failure?: string;
}
