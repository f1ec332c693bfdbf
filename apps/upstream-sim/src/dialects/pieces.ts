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

/** Cuts the arguments of a call into pieces and repeats them as `arguments` says. Repetitions carry no tokens. */
export function* argumentPieces(text: string, directives: Directives): Generator<Piece> {
  const ways = directives.arguments ?? [];
  if (ways.includes('braces')) yield { text: '{}', tokens: 0 };
  let soFar = '';
  for (const piece of pieces(text, directives)) {
    soFar += piece.text;
    yield ways.includes('cumulated') ? { ...piece, text: soFar } : piece;
  }
  if (ways.includes('twice')) yield { text, tokens: 0 };
  if (ways.includes('encoded')) yield { text: JSON.stringify(text), tokens: 0 };
}

/** Returns the arguments of a call where they come as a whole. */
export function wholeArguments(text: string, directives: Directives): string {
  return directives.arguments?.includes('encoded') ? JSON.stringify(text) : text;
}

/** Yields the first item of each list, then the second of each, and so on. */
export function* inTurn<Item>(lists: readonly (readonly Item[])[]): Generator<Item> {
  for (let turn = 0; lists.some((list) => turn < list.length); turn++) {
    for (const list of lists) yield* list.slice(turn, turn + 1);
  }
}
