import type { InferenceRequest } from './request.js';
import type { Turn } from './turn.js';

/** The two quantities from which a hold, a context check and an estimate are made. No tokenizer is involved. */
export interface PromptSize {
  /** UTF-8 bytes of the canonical prompt as JSON: roles, names, texts, tool definitions, calls and results; no image data. */
  textBytes: number;
  images: number;
}

/**
 * Measures a prompt once; everything that needs a size takes this (architecture.md, "The hold"). `reasoningEcho`: reasoning of
 * earlier turns goes back to the model. Elsewhere it is no part of the prompt, and agents' histories are full of it.
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

/** The turn itself, where nothing of it is left out. */
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
