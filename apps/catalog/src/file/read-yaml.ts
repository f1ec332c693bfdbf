import { type Document, isAlias, isMap, isNode, isScalar, isSeq, LineCounter, type Node, parseDocument, type YAMLError } from 'yaml';
import { CatalogFileError, type Fault } from './catalog-file-error.js';
import { lineAt } from './locate.js';

/** A file as it is written, and what it means with every alias replaced by what it repeats. */
export interface YamlFile {
  document: Document.Parsed;
  lines: LineCounter;
  /** What each alias repeats. */
  sources: ReadonlyMap<Node, Node>;
  plain: object;
}

/** More than the largest catalog that makes sense has; what is unfolded is walked through several times. */
const VALUES_MAX = 250_000;
const LEVELS_MAX = 32;

/**
 * Reads one YAML document whose top is a group of fields. Throws `CatalogFileError` for what is none, and for aliases that have no
 * end or unfold to more than a catalog can be: a short text may mean gigabytes.
 */
export function readYaml(text: string, fileName: string): YamlFile {
  const lines = new LineCounter();
  const fail = (...faults: Fault[]): never => {
    throw new CatalogFileError(fileName, faults);
  };
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, version: '1.2' });
  const syntax = [...document.errors, ...document.warnings];
  const tooDeep = syntax.find(({ code }) => code === 'RESOURCE_EXHAUSTION');
  if (tooDeep) fail({ line: lineAt(tooDeep.pos[0], lines), path: '', problem: TOO_DEEP });
  if (syntax.length > 0) fail(...syntax.map((error) => ({ line: lineAt(error.pos[0], lines), path: '', problem: syntaxProblem(error) })));
  const unfolding = new Unfolding();
  const endless = unfolding.faultOf(document.contents);
  if (endless) fail({ line: lineAt(endless.node.range?.[0] ?? 0, lines), path: '', problem: endless.problem });
  const plain: unknown = document.toJS({ maxAliasCount: -1 }); // how much there is of it has been seen to
  if (typeof plain !== 'object' || plain === null || Array.isArray(plain)) {
    return fail({ line: 1, path: '', problem: 'must have the fields upstreams and models' });
  }
  return { document, lines, sources: unfolding.sources, plain };
}

const TOO_DEEP = `must not be nested more than ${LEVELS_MAX} levels deep`;

function syntaxProblem({ code, message }: YAMLError): string {
  if (code === 'MULTIPLE_DOCS') return 'must be one document, without a second --- part';
  const [line = message] = message.split('\n', 1);
  // After a colon the parser quotes the text it stumbled on, which may be anything, and a problem goes to logs. A tag is no secret.
  return `not valid YAML: ${code === 'TAG_RESOLVE_FAILED' ? line : line.replace(/: .*$/, '')}`;
}

interface Unfolded {
  values: number;
  levels: number;
  /** It is being walked through: an alias of it here would contain itself. */
  isOpen: boolean;
}

interface Endless {
  node: Node;
  problem: string;
}

/** Counts what a document unfolds to, without unfolding it. */
class Unfolding {
  readonly sources = new Map<Node, Node>();
  private values = 0;
  private readonly anchors = new Map<string, { node: Node; unfolded: Unfolded }>();

  /** The first node, in the order of the text, that goes too far. */
  faultOf(top: unknown): Endless | undefined {
    const found = this.walk(top, 1);
    return 'problem' in found ? found : undefined;
  }

  private walk(node: unknown, level: number): Unfolded | Endless {
    if (!isNode(node)) return { values: 0, levels: 0, isOpen: false };
    if (isAlias(node)) return this.repeat(node, node.source, level);
    const before = this.values++;
    const unfolded = { values: 0, levels: 1, isOpen: true };
    if ((isScalar(node) || isMap(node) || isSeq(node)) && node.anchor) this.anchors.set(node.anchor, { node, unfolded });
    if (level > LEVELS_MAX) return { node, problem: TOO_DEEP };
    for (const child of childrenOf(node)) {
      const inner = this.walk(child, level + 1);
      if ('problem' in inner) return inner;
      unfolded.levels = Math.max(unfolded.levels, inner.levels + 1);
    }
    unfolded.values = this.values - before;
    unfolded.isOpen = false;
    return unfolded;
  }

  private repeat(node: Node, name: string, level: number): Unfolded | Endless {
    const anchor = this.anchors.get(name);
    if (anchor === undefined) return { node, problem: `*${name} has no &${name} above it` };
    const { node: source, unfolded } = anchor;
    if (unfolded.isOpen) return { node, problem: `*${name} is inside of what &${name} names, and would repeat itself without end` };
    this.sources.set(node, source);
    this.values += unfolded.values;
    if (this.values > VALUES_MAX)
      return { node, problem: `with what *${name} repeats here, the file unfolds to more than a catalog can be` };
    return level + unfolded.levels - 1 > LEVELS_MAX ? { node, problem: TOO_DEEP } : unfolded;
  }
}

function childrenOf(node: Node): unknown[] {
  if (isMap(node)) return node.items.flatMap(({ key, value }) => [key, value]);
  return isSeq(node) ? node.items : [];
}
