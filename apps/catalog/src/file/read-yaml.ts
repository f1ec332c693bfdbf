import { type Document, LineCounter, parseDocument, type YAMLError } from 'yaml';
import { CatalogFileError, type Fault } from './catalog-file-error.js';
import { lineAt } from './locate.js';

export interface YamlFile {
  document: Document.Parsed;
  lines: LineCounter;
  /** The content, with every alias replaced by the value of its anchor. */
  plain: object;
}

/** Uses of one anchor, each multiplied by the aliases inside it. A catalog repeats a price or a list of routes in every model. */
const ALIASES_MAX = 10_000;

/**
 * Reads one YAML document whose top level is a mapping.
 * @throws {CatalogFileError} on a syntax error, an alias that cannot be resolved, or another top level.
 */
export function readYaml(text: string, fileName: string): YamlFile {
  const lines = new LineCounter();
  const fail = (...faults: Fault[]): never => {
    throw new CatalogFileError(fileName, faults);
  };
  const nul = text.indexOf('\0');
  // Postgres cannot store it.
  if (nul !== -1) fail({ line: text.slice(0, nul).split('\n').length, path: '', problem: 'must not contain the character NUL' });
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, version: '1.2' });
  const errors = [...document.errors, ...document.warnings];
  const tooDeep = errors.find(({ code }) => code === 'RESOURCE_EXHAUSTION');
  const syntax = tooDeep ? [tooDeep] : errors;
  if (syntax.length > 0) fail(...syntax.map((error) => ({ line: lineAt(error.pos[0], lines), path: '', problem: syntaxProblem(error) })));
  const plain = contentOf(document);
  if (plain instanceof Error) return fail({ line: 1, path: '', problem: `aliases cannot be resolved: ${plain.message.split('\n', 1)[0]}` });
  if (typeof plain !== 'object' || plain === null || Array.isArray(plain)) {
    return fail({ line: 1, path: '', problem: 'must have the fields upstreams and models' });
  }
  return { document, lines, plain };
}

function contentOf(document: Document.Parsed): unknown {
  try {
    const plain: unknown = document.toJS({ maxAliasCount: ALIASES_MAX });
    JSON.stringify(plain); // throws when an alias is inside its own anchor
    return plain;
  } catch (error) {
    return error;
  }
}

function syntaxProblem({ code, message }: YAMLError): string {
  if (code === 'MULTIPLE_DOCS') return 'must be one document, without a second --- part';
  if (code === 'RESOURCE_EXHAUSTION') return 'not valid YAML: nested too deeply';
  const [line = message] = message.split('\n', 1);
  // After a colon the parser quotes the text at fault, which may be a secret, and problems are logged. A tag is no secret.
  return `not valid YAML: ${code === 'TAG_RESOLVE_FAILED' ? line : line.replace(/: .*$/, '')}`;
}
