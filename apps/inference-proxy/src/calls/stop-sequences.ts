/**
 * Finds stop sequences in a text that comes in pieces, for upstreams that do not (architecture.md, "an upstream without
 * `stop`"; T-44). The text ends where the first of them is complete, with the longest of those that are complete there; the
 * sequence itself is not part of the output. The work grows with the text and no faster, however text and sequences repeat
 * themselves (Knuth, Morris, Pratt): a client chooses both.
 */
export class StopSequences {
  /** What was held back, because it may become a sequence. */
  private held = '';
  private readonly searches: Search[];

  constructor(sequences: readonly string[]) {
    this.searches = sequences.map((sequence) => new Search(sequence));
  }

  /** What may go out now, and whether a sequence was met: then nothing after it counts. */
  push(piece: string): { text: string; met: boolean } {
    let end = piece.length;
    let met = 0;
    for (const search of this.searches) {
      const at = search.read(piece, end);
      if (at === undefined) continue;
      met = at < end ? search.sequence.length : Math.max(met, search.sequence.length);
      end = at;
    }
    if (met > 0) return { text: this.replaceHeld('', piece, end - met), met: true };
    const begun = this.searches.map(({ begun }) => begun).reduce((longest, next) => (next.length > longest.length ? next : longest), '');
    return { text: this.replaceHeld(begun, piece, piece.length - begun.length), met: false };
  }

  /** What was held back and is no sequence: the next piece does not go on from it. */
  flush(): string {
    for (const search of this.searches) search.reset();
    return this.replaceHeld('', '', 0);
  }

  /** What was held and the piece, up to where in the piece that is, or before it. */
  private replaceHeld(next: string, piece: string, end: number): string {
    const { held } = this;
    this.held = next;
    return end > 0 ? held + piece.slice(0, end) : held.slice(0, held.length + end);
  }
}

/** The search for one sequence. */
class Search {
  /** How much of the sequence the text so far ends with. */
  private matched = 0;
  private readonly first: string;
  /** For each beginning of the sequence by its length: how long the longest shorter beginning is that it ends with. */
  private readonly fallbacks: Uint32Array;

  constructor(readonly sequence: string) {
    this.first = sequence.charAt(0);
    this.fallbacks = new Uint32Array(sequence.length + 1);
    for (let at = 1; at < sequence.length; at++) {
      this.matched = this.step(sequence.charCodeAt(at));
      this.fallbacks[at + 1] = this.matched;
    }
    this.matched = 0;
  }

  /** The beginning of the sequence that the text so far ends with. It shares the memory of the sequence. */
  get begun(): string {
    return this.sequence.slice(0, this.matched);
  }

  /** Where in the piece the sequence first ends, up to `end`. */
  read(piece: string, end: number): number | undefined {
    for (let at = 0; at < end; at++) {
      if (this.matched > 0) this.matched = this.step(piece.charCodeAt(at));
      else {
        at = piece.indexOf(this.first, at);
        if (at === -1) return undefined;
        this.matched = 1;
      }
      if (this.matched === this.sequence.length) return at < end ? at + 1 : undefined;
    }
    return undefined;
  }

  reset(): void {
    this.matched = 0;
  }

  private step(code: number): number {
    let { matched } = this;
    while (matched > 0 && this.sequence.charCodeAt(matched) !== code) matched = this.fallbacks[matched] ?? 0;
    return this.sequence.charCodeAt(matched) === code ? matched + 1 : 0;
  }
}
