import { type Document, isAlias, isMap, isScalar, isSeq, type LineCounter, type Node, type Range } from 'yaml';

/** Keys and indices from the top of a document: `['models', 0, 'price']`. */
export type Path = readonly (string | number)[];

/** Returns a path in the notation of errors: `models[0].price`. */
export function renderPath(path: Path): string {
  return path.reduce<string>((text, step) => (typeof step === 'number' ? `${text}[${step}]` : text === '' ? step : `${text}.${step}`), '');
}

/** Returns the line of a field's key or entry; for a missing field, the line of its parent. */
export function findLine(path: Path, document: Document.Parsed, lines: LineCounter): number {
  let node: unknown = document.contents;
  let range = document.contents?.range;
  for (const step of path) {
    const container = isAlias(node) ? node.resolve(document) : node;
    const found = isMap(container) ? mapEntry(container.items, step) : isSeq(container) ? seqEntry(container.items, step) : undefined;
    if (found === undefined) break;
    node = found.value;
    range = found.range ?? range;
  }
  return lineAt(range?.[0] ?? 0, lines);
}

export function lineAt(offset: number, lines: LineCounter): number {
  return Math.max(1, lines.linePos(offset).line);
}

interface Entry {
  range: Range | null | undefined;
  value: unknown;
}

function mapEntry(items: { key: unknown; value: unknown }[], step: string | number): Entry | undefined {
  const pair = items.find(({ key }) => isScalar(key) && String(key.value) === String(step));
  return pair && { range: (pair.key as Node).range, value: pair.value };
}

function seqEntry(items: unknown[], step: string | number): Entry | undefined {
  const item = items[Number(step)];
  return item === undefined ? undefined : { range: (item as Node).range, value: item };
}
