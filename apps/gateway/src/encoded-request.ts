import type { PromptSize } from '#inference/prompt-size.js';
import type { InferenceRequest } from '#inference/request.js';

export interface RequestSummary extends Pick<InferenceRequest, 'model' | 'stream' | 'maxOutputTokens'> {
  size: PromptSize;
}

/** A large canonical request as JSON text, with the fields that the pipeline reads. The parsed object stays in the worker thread. */
export class EncodedRequest {
  readonly model: string;
  readonly stream: boolean;
  readonly maxOutputTokens: number | undefined;
  readonly size: PromptSize;

  /** `json`: an `InferenceRequest` in UTF-8. `onSent` is called when the bytes are no longer needed. */
  constructor(
    { model, stream, maxOutputTokens, size }: RequestSummary,
    private json: Uint8Array,
    readonly onSent: () => void,
  ) {
    this.model = model;
    this.stream = stream;
    this.maxOutputTokens = maxOutputTokens;
    this.size = size;
  }

  /** Returns a copy of the JSON text, for a thread. */
  copyJson(): Buffer<ArrayBuffer> {
    return Buffer.from(this.json);
  }

  /** Returns the JSON text once and releases it: its memory must not be held for the whole reply. */
  takeJson(): Uint8Array {
    const { json } = this;
    this.json = new Uint8Array(0);
    return json;
  }
}
