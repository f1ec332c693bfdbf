/** One thing wrong in a catalog file. */
export interface Fault {
  /** 1-based. */
  line: number;
  /** The field in the file's own notation, `models[0].price.inputUsdPerMTok`; empty for the file as a whole. */
  path: string;
  /** What is wrong, as a predicate: `must be a whole number from 1 to 10`. Never the value of something that could be a secret. */
  problem: string;
}

/** A text that is no catalog at all has a fault in every line. */
const LISTED_MAX = 100;

/** A catalog file that cannot be applied. `message` lists the faults in the order of the file, one per line; of very many the first. */
export class CatalogFileError extends Error {
  override readonly name = 'CatalogFileError';

  constructor(
    readonly fileName: string,
    readonly faults: readonly Fault[],
  ) {
    super(listOf(fileName, faults, LISTED_MAX).join('\n'));
  }

  /** The first `max` of its lines, and how many there are besides. */
  firstLines(max: number): string[] {
    return listOf(this.fileName, this.faults, max);
  }
}

function listOf(fileName: string, faults: readonly Fault[], max: number): string[] {
  const lines = [...faults]
    .sort((a, b) => a.line - b.line)
    .slice(0, max)
    .map(({ line, path, problem }) => `${fileName}:${line}: ${path === '' ? '' : `${path}: `}${problem}`);
  return faults.length > max ? [...lines, `and ${faults.length - max} more`] : lines;
}
