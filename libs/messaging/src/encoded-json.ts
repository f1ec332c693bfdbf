/** A payload that is already encoded as UTF-8 JSON, because encoding it on the event loop would take too long. */
export class EncodedJson {
  /** `onSent` is called once, when the bytes are released, sent or not. */
  constructor(
    readonly bytes: Buffer,
    readonly onSent: () => void,
  ) {}
}
