/** Fields that the log lines of a run share. There is a trace id also while traces are not exported. */
export interface RunFields {
  requestId: string;
  traceId: string | undefined;
  keyId: string | undefined;
  holdId: string;
}
