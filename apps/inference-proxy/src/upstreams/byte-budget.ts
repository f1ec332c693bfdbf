/** So many bytes of text, and no more: cut between characters. */
export class ByteBudget {
  constructor(private left: number) {}

  /** The beginning of the text that still fits; shorter than the text when it does not. Then nothing fits any more. */
  take(text: string): string {
    const bytes = Buffer.byteLength(text);
    if (bytes <= this.left) {
      this.left -= bytes;
      return text;
    }
    let fitting = '';
    for (const character of text) {
      this.left -= Buffer.byteLength(character);
      if (this.left < 0) break;
      fitting += character;
    }
    this.left = 0;
    return fitting;
  }
}
