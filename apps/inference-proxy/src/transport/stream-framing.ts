/** Takes one payload, which is JSON or an end marker. */
export type Take = (payload: string) => void;

/** Cuts the bytes of a stream into the payloads of its events. */
export interface StreamFraming {
  /** True when the last bytes are the beginning of something. */
  readonly isCut: boolean;
  /** Bytes of the incomplete event. */
  readonly heldBytes: number;
  /** Passes every payload that `bytes` complete to `take`. Throws `UpstreamFailure` for what cannot be read, after the payloads before it. */
  push(bytes: Buffer, take: Take): void;
  /** Call when the upstream has closed. */
  end(take: Take): void;
}
