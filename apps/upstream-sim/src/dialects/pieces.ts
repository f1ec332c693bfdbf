import type { Directives } from '../directives.js';

export interface Piece {
  text: string;
  tokens: number;
}

/** Cuts a text into pieces of `chunk` tokens of four bytes (default: one token), never inside a character. */
export function* pieces(text: string, { chunk = 1 }: Directives): Generator<Piece> {
  const size = Math.max(1, Math.floor(chunk)) * 4;
  if (Buffer.byteLength(text) === text.length) {
    for (let start = 0; start < text.length; start += size) {
      const piece = text.slice(start, start + size);
      yield { text: piece, tokens: Math.ceil(piece.length / 4) };
    }
    return;
  }
  let piece = '';
  let bytes = 0;
  for (const character of text) {
    const width = Buffer.byteLength(character);
    if (bytes + width > size) {
      yield { text: piece, tokens: Math.ceil(bytes / 4) };
      piece = '';
      bytes = 0;
    }
    piece += character;
    bytes += width;
  }
  if (piece !== '') yield { text: piece, tokens: Math.ceil(bytes / 4) };
}

/** Yields the first item of each list, then the second of each, and so on. */
export function* inTurn<Item>(lists: readonly (readonly Item[])[]): Generator<Item> {
  for (let turn = 0; lists.some((list) => turn < list.length); turn++) {
    for (const list of lists) yield* list.slice(turn, turn + 1);
  }
}
