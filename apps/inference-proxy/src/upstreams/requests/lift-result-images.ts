import type { TextPart, ToolTurn, Turn, UserTurn } from '#inference/turn.js';

/**
 * Moves the images in tool results into a user turn after them, for dialects whose tool results are text. `mapId` returns the name by which
 * the model knows a call.
 */
export function liftResultImages(turns: readonly Turn[], mapId: (callId: string) => string): readonly Turn[] {
  if (!turns.some(hasImages)) return turns;
  return turns.flatMap((turn) => (turn.role === 'tool' && hasImages(turn) ? withoutImages(turn, mapId) : [turn]));
}

function hasImages(turn: Turn): boolean {
  return turn.role === 'tool' && turn.results.some(({ parts }) => parts.some((part) => part.type === 'image'));
}

function withoutImages({ results }: ToolTurn, mapId: (callId: string) => string): Turn[] {
  const seen: UserTurn = { role: 'user', parts: [] };
  const bare = results.map((result) => {
    const texts = result.parts.filter((part) => part.type === 'text');
    const images = result.parts.filter((part) => part.type === 'image');
    if (images.length === 0) return result;
    seen.parts.push(text(`Image from tool call ${mapId(result.callId)}:`), ...images);
    const says = texts.some((part) => part.text !== '') ? texts : [text('The result is the image below.')];
    return { ...result, parts: says };
  });
  return [{ role: 'tool', results: bare }, seen];
}

function text(value: string): TextPart {
  return { type: 'text', text: value };
}
