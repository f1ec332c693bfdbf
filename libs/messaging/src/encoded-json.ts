/** A payload that is JSON in UTF-8 already: one too large to be encoded on the event loop. */
export class EncodedJson {
  /** `onSent` is called once, when the bytes are no longer held, sent or not. */
  constructor(
    readonly bytes: Buffer,
    readonly onSent: () => void,
  ) {}
}
