/** One thing wrong in a catalog file. */
export interface Fault {
  /** 1-based. */
  line: number;
  /** The field in the file's own notation, `models[0].price.inputUsdPerMTok`; empty for the file as a whole. */
  path: string;
  /** What is wrong, as a predicate: `must be a whole number from 1 to 10`. Never the value of something that could be a secret. */
  problem: string;
}

/** A catalog file that cannot be applied. `message` lists every fault in the order of the file, one per line. */
export class CatalogFileError extends Error {
  override readonly name = 'CatalogFileError';

  constructor(fileName: string, faults: readonly Fault[]) {
    super(
      [...faults]
        .sort((a, b) => a.line - b.line)
        .map(({ line, path, problem }) => `${fileName}:${line}: ${path === '' ? '' : `${path}: `}${problem}`)
        .join('\n'),
    );
  }
}
