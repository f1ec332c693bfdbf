import { type Document, isAlias, isMap, isScalar, isSeq, type Node } from 'yaml';

/** Values with every alias written out. A thousand models with all of their fields and two routes each have some 40,000. */
const VALUES_MAX = 100_000;
/** Entries of one list, or fields of one group. A catalog has up to 1,000 models. */
const ENTRIES_MAX = 1_000;
/** Characters of all texts and field names, with every alias written out. */
const CHARACTERS_MAX = 4_000_000;
/** Levels of lists and groups. A catalog has six. */
const DEPTH_MAX = 32;

/** Thrown for a document whose content cannot be resolved. `offset` is where in the text. */
export class ContentError extends Error {
  override readonly name = 'ContentError';

  constructor(
    readonly offset: number,
    readonly problem: string,
  ) {
    super(problem);
  }
}

/** The values of an anchor, and what one more use of them adds. */
interface Anchored {
  value: unknown;
  values: number;
  characters: number;
  /** Levels below it. */
  height: number;
}

/**
 * Returns the content of a document, with the value of its anchor for every alias. The copies are counted and not made: they are one object,
 * which later readers copy at each use.
 * @throws {ContentError} beyond the limits, as soon as they are exceeded; on an alias without an anchor or inside its own; on a field twice.
 */
export function resolveContent(document: Document.Parsed): unknown {
  return new Resolver().resolveValue(document.contents, 0).value;
}

class Resolver {
  /** Latest anchor of each name. Undefined inside it: its alias would be a circle. */
  private readonly anchors = new Map<string, { resolved?: Anchored }>();
  private values = 0;
  private characters = 0;

  resolveValue(node: Node | null, depth: number): { value: unknown; height: number } {
    if (node === null) return { value: null, height: 0 };
    if (isAlias(node)) return this.resolveAlias(node.source, findOffset(node), depth);
    this.add(node, depth, 1, 0);
    const anchor: { resolved?: Anchored } = {};
    if ('anchor' in node && node.anchor !== undefined) this.anchors.set(node.anchor, anchor);
    const [values, characters] = [this.values, this.characters];
    const result = this.resolveNode(node, depth);
    anchor.resolved = { ...result, values: this.values - values + 1, characters: this.characters - characters };
    return result;
  }

  private resolveAlias(name: string, offset: number, depth: number): { value: unknown; height: number } {
    const anchor = this.anchors.get(name);
    if (anchor === undefined) throw new ContentError(offset, `the alias *${name} has no anchor before it`);
    if (anchor.resolved === undefined) throw new ContentError(offset, `the alias *${name} is inside its own anchor`);
    const { value, values, characters, height } = anchor.resolved;
    this.add({ range: [offset] }, depth + height, values, characters);
    return { value, height };
  }

  private resolveNode(node: Node, depth: number): { value: unknown; height: number } {
    if ((isMap(node) || isSeq(node)) && node.items.length > ENTRIES_MAX) {
      throw new ContentError(findOffset(node), `has more than ${ENTRIES_MAX} entries in one list or group of fields`);
    }
    if (isMap<Node, Node | null>(node)) {
      const fields = new Map<string, unknown>();
      let height = 0;
      for (const { key, value } of node.items) {
        const name = this.readName(key, depth);
        if (fields.has(name)) throw new ContentError(findOffset(key), 'not valid YAML: Map keys must be unique');
        const field = this.resolveValue(value, depth + 1);
        fields.set(name, field.value);
        height = Math.max(height, field.height + 1);
      }
      return { value: Object.fromEntries(fields), height };
    }
    if (isSeq<Node>(node)) {
      const items = node.items.map((item) => this.resolveValue(item, depth + 1));
      return { value: items.map(({ value }) => value), height: items.reduce((most, { height }) => Math.max(most, height + 1), 0) };
    }
    if (!isScalar(node)) throw new ContentError(findOffset(node), 'is neither text, list nor group of fields');
    if (typeof node.value === 'string') this.add(node, depth, 0, node.value.length);
    return { value: node.value, height: 0 };
  }

  private readName(key: Node, depth: number): string {
    if (!isScalar(key)) throw new ContentError(findOffset(key), 'has a field whose name is no plain text');
    const name = String(key.value ?? '');
    this.add(key, depth, 0, name.length);
    if (key.anchor !== undefined)
      this.anchors.set(key.anchor, { resolved: { value: key.value, values: 1, characters: name.length, height: 0 } });
    return name;
  }

  private add(node: Pick<Node, 'range'> | { range: [number] }, depth: number, values: number, characters: number): void {
    this.values += values;
    this.characters += characters;
    const problem =
      this.values > VALUES_MAX
        ? `is too large: more than ${VALUES_MAX} values, with every alias written out`
        : this.characters > CHARACTERS_MAX
          ? `is too large: more than ${CHARACTERS_MAX} characters, with every alias written out`
          : depth > DEPTH_MAX
            ? 'is nested too deeply'
            : undefined;
    if (problem !== undefined) throw new ContentError(findOffset(node), problem);
  }
}

function findOffset({ range }: { range?: readonly number[] | null | undefined }): number {
  return range?.[0] ?? 0;
}
