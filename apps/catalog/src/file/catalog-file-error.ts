/** A fault in a catalog file. */
export interface Fault {
  /** 1-based. */
  line: number;
  /** Field in the notation of the file, `models[0].price.inputUsdPerMTok`; empty for the whole file. */
  path: string;
  /** Predicate, such as `must be a whole number from 1 to 10`. Never contains a value that could be a secret. */
  problem: string;
}

/** Faults listed: a text that is no catalog has one in every line. */
const LISTED_MAX = 100;

/** Thrown for an invalid catalog file. `message` lists the first faults in the order of the file, one per line. */
export class CatalogFileError extends Error {
  override readonly name = 'CatalogFileError';

  constructor(
    readonly fileName: string,
    readonly faults: readonly Fault[],
    /** Further faults, whose lines were not looked up. */
    private readonly others = 0,
  ) {
    super(renderList(fileName, faults, LISTED_MAX, others).join('\n'));
  }

  /** Returns the first `max` lines, and the number of the others. */
  firstLines(max: number): string[] {
    return renderList(this.fileName, this.faults, max, this.others);
  }
}

function renderList(fileName: string, faults: readonly Fault[], max: number, others: number): string[] {
  const lines = [...faults]
    .sort((a, b) => a.line - b.line)
    .slice(0, max)
    .map(({ line, path, problem }) => `${fileName}:${line}: ${path === '' ? '' : `${path}: `}${problem}`);
  const more = faults.length + others - lines.length;
  return more > 0 ? [...lines, `and ${more} more`] : lines;
}
