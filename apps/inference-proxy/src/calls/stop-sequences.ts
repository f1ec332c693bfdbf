/**
 * Finds stop sequences in a text that comes in pieces, for upstreams that cannot. The text ends before the first sequence that is
 * complete; of several that end at the same place, the longest counts. The search is Knuth-Morris-Pratt, so its time is linear however
 * the client chooses text and sequences.
 */
export class StopSequences {
  /** Text held back because it may be the beginning of a sequence. */
  private held = '';
  private readonly searches: Search[];

  constructor(sequences: readonly string[]) {
    this.searches = sequences.map((sequence) => new Search(sequence));
  }

  /** Returns the text that may be sent now. `met`: a sequence was found, and nothing after it counts. */
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

  /** Returns the text held back: it is no sequence, because the next piece does not continue it. */
  flush(): string {
    for (const search of this.searches) search.reset();
    return this.replaceHeld('', '', 0);
  }

  /** Returns the held text and the piece up to `end`, a position in the piece; negative when it lies in the held text. */
  private replaceHeld(next: string, piece: string, end: number): string {
    const { held } = this;
    this.held = next;
    return end > 0 ? held + piece.slice(0, end) : held.slice(0, held.length + end);
  }
}

/** Search for one sequence. */
class Search {
  /** Length of the beginning of the sequence that the text so far ends with. */
  private matched = 0;
  private readonly first: string;
  /** For each beginning of the sequence, by length: the length of the longest shorter beginning that it ends with. */
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

  /** Beginning of the sequence that the text so far ends with. */
  get begun(): string {
    return this.sequence.slice(0, this.matched);
  }

  /** Returns the position in the piece, up to `end`, where the sequence first ends; undefined when it does not. */
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
