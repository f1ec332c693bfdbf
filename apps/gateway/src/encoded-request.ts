import { measurePrompt, type PromptSize } from '#inference/prompt-size.js';
import type { InferenceRequest } from '#inference/request.js';

/** Sizes of one prompt: for models that get the reasoning of earlier turns back, and for all others. */
export interface PromptSizes {
  withReasoning: PromptSize;
  withoutReasoning: PromptSize;
}

export interface RequestSummary extends Pick<InferenceRequest, 'model' | 'stream' | 'maxOutputTokens'> {
  sizes: PromptSizes;
}

/** A large canonical request as JSON text, with the fields that the pipeline reads. The object itself stays in the thread that parsed it. */
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

  /** Returns the JSON text and keeps none of it: it must not live as long as the reply. */
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
