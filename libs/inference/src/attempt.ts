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
  /** Status of the upstream's error, of the reply or as an error within a stream names it. */
  status?: number;
  /** Reason of the failure in our own words, without keys and without the upstream's text. For operators. */
  reason?: string;
}
