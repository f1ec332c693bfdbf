import type { InferenceRequest } from './request.js';
import type { TextPart, Turn } from './turn.js';

/** The two quantities from which a hold, a context check and an estimate are made. No tokenizer is involved. */
export interface PromptSize {
  /** UTF-8 bytes of the canonical prompt as JSON: roles, names, texts, tool definitions, calls and results; no image data. */
  textBytes: number;
  images: number;
}

/** Measures a prompt once; everything that needs a size takes this (architecture.md, "The hold"). */
export function measurePrompt(request: Pick<InferenceRequest, 'turns' | 'tools' | 'output'>): PromptSize {
  const images = request.turns.reduce((count, turn) => count + imagesOf(turn), 0);
  const turns = images === 0 ? request.turns : request.turns.map(withoutImages);
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

function withoutImages(turn: Turn): Turn {
  switch (turn.role) {
    case 'user':
      return { ...turn, parts: turn.parts.filter((part) => !isImage(part)) };
    case 'tool':
      return { ...turn, results: turn.results.map((result) => ({ ...result, parts: result.parts.filter((part) => !isImage(part)) })) };
    case 'system':
    case 'assistant':
      return turn;
  }
}

function isImage(part: { type: string }): boolean {
  return part.type === 'image';
}

/** The text a turn carries, without images: what an upstream would read. */
export function turnTexts(turn: Turn): string[] {
  const isText = (part: { type: string }): part is TextPart => part.type === 'text';
  return turn.role === 'tool'
    ? turn.results.flatMap((result) => result.parts.filter(isText).map((part) => part.text))
    : turn.parts.filter(isText).map((part) => part.text);
}
