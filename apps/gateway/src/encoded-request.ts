import { measurePrompt, type PromptSize } from '#inference/prompt-size.js';
import type { InferenceRequest } from '#inference/request.js';

/** Sizes of one prompt: for models whose requests include the reasoning of earlier turns, and for all others. */
export interface PromptSizes {
  withReasoning: PromptSize;
  withoutReasoning: PromptSize;
}

export interface RequestSummary extends Pick<InferenceRequest, 'model' | 'stream' | 'maxOutputTokens'> {
  sizes: PromptSizes;
}

/** A large canonical request as JSON text, with the fields that the pipeline reads. The parsed object stays in the worker thread. */
export class EncodedRequest {
  readonly model: string;
  readonly stream: boolean;
  readonly maxOutputTokens: number | undefined;
  private readonly sizes: PromptSizes;

  /** `json`: an `InferenceRequest` in UTF-8. `onSent` is called when the bytes are no longer needed. */
  constructor(
    { model, stream, maxOutputTokens, sizes }: RequestSummary,
    private json: Uint8Array,
    readonly onSent: () => void,
  ) {
    this.model = model;
    this.stream = stream;
    this.maxOutputTokens = maxOutputTokens;
    this.sizes = sizes;
  }

  promptSize(reasoningEcho: boolean): PromptSize {
    return promptSizeOf(this.sizes, reasoningEcho);
  }

  /** Returns the JSON text once and releases it: its memory must not be held for the whole reply. */
  takeJson(): Uint8Array {
    const { json } = this;
    this.json = new Uint8Array(0);
    return json;
  }
}

export function promptSizeOf(sizes: PromptSizes, reasoningEcho: boolean): PromptSize {
  return reasoningEcho ? sizes.withReasoning : sizes.withoutReasoning;
}

export function measureBothWays(prompt: Parameters<typeof measurePrompt>[0]): PromptSizes {
  const withReasoning = measurePrompt(prompt, true);
  const hasReasoning = prompt.turns.some((turn) => turn.role === 'assistant' && turn.parts.some(({ type }) => type === 'reasoning'));
  return { withReasoning, withoutReasoning: hasReasoning ? measurePrompt(prompt, false) : withReasoning };
}
