const LENGTH_MAX = 8_192;

/** Returns the beginning and the end of a long text, which is where an error says what is wrong. The upstream chooses its length. */
export function headAndTail(text: string): string {
  if (text.length <= LENGTH_MAX) return text;
  return `${text.slice(0, LENGTH_MAX / 2)} … ${text.slice(-LENGTH_MAX / 2)}`;
}
