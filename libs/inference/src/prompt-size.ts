import type { InferenceRequest } from './request.js';
import type { Turn } from './turn.js';

/** The size of a prompt, from which the hold, the context check and the estimate are computed without a tokenizer. */
export interface PromptSize {
  /** UTF-8 bytes of the canonical prompt as JSON, without image data. */
  textBytes: number;
  images: number;
}

/**
 * Measures a prompt. Reasoning of earlier turns counts only with `reasoningEcho`, where it is sent back to the model.
 */
export function measurePrompt(request: Pick<InferenceRequest, 'turns' | 'tools' | 'output'>, reasoningEcho: boolean): PromptSize {
  const images = request.turns.reduce((count, turn) => count + imagesOf(turn), 0);
  const turns = request.turns.map((turn) => textOf(turn, reasoningEcho));
  const prompt = JSON.stringify({ turns, tools: request.tools, output: request.output });
  return { textBytes: Buffer.byteLength(prompt), images };
}

function imagesOf(turn: Turn): number {
  switch (turn.role) {
    case 'user':
      return turn.parts.filter(isImage).length;
    case 'tool':
      return turn.results.reduce((count, result) => count + result.parts.filter(isImage).length, 0);
    case 'system':
    case 'assistant':
      return 0;
  }
}

/** Returns the turn without images and dropped reasoning; the same object when it has none. */
function textOf(turn: Turn, reasoningEcho: boolean): Turn {
  switch (turn.role) {
    case 'user':
      return turn.parts.some(isImage) ? { ...turn, parts: turn.parts.filter((part) => !isImage(part)) } : turn;
    case 'tool':
      return imagesOf(turn) === 0
        ? turn
        : { ...turn, results: turn.results.map((result) => ({ ...result, parts: result.parts.filter((part) => !isImage(part)) })) };
    case 'assistant':
      return reasoningEcho || !turn.parts.some(isReasoning) ? turn : { ...turn, parts: turn.parts.filter((part) => !isReasoning(part)) };
    case 'system':
      return turn;
  }
}

function isImage(part: { type: string }): boolean {
  return part.type === 'image';
}

function isReasoning(part: { type: string }): boolean {
  return part.type === 'reasoning';
}
