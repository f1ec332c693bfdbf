import { type Document, Lexer, LineCounter, parseDocument, type YAMLError } from 'yaml';
import { CatalogFileError, type Fault } from './catalog-file-error.js';
import { lineAt } from './locate.js';
import { ContentError, resolveContent } from './resolve-content.js';

export interface YamlFile {
  document: Document.Parsed;
  lines: LineCounter;
  /** The content, with every alias replaced by the value of its anchor. Bounded as if each were a copy. */
  plain: object;
}

/** Syntax errors that are reported: one in every line says no more. */
const SYNTAX_ERRORS_MAX = 200;
/** Words and marks of YAML in a text. Each takes up to 500 bytes when it is parsed; a thousand models have some 150,000. */
const LEXEMES_MAX = 250_000;

/**
 * Reads one YAML document whose top level is a mapping.
 * @throws {CatalogFileError} on a syntax error, an alias that cannot be resolved, a content that is too large, or another top level.
 */
export function readYaml(text: string, fileName: string): YamlFile {
  const lines = new LineCounter();
  const fail = (...faults: Fault[]): never => {
    throw new CatalogFileError(fileName, faults);
  };
  const nul = text.indexOf('\0');
  // Postgres cannot store it.
  if (nul !== -1) fail({ line: text.slice(0, nul).split('\n').length, path: '', problem: 'must not contain the character NUL' });
  const tooLong = longTextAt(text);
  if (tooLong !== undefined) fail({ line: tooLong, path: '', problem: `is too large: more than ${LEXEMES_MAX} words and marks of YAML` });
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, version: '1.2', uniqueKeys: false });
  const errors = [...document.errors, ...document.warnings];
  const tooDeep = errors.find(({ code }) => code === 'RESOURCE_EXHAUSTION');
  const syntax = tooDeep ? [tooDeep] : errors;
  if (syntax.length > 0)
    fail(
      ...syntax
        .slice(0, SYNTAX_ERRORS_MAX)
        .map((error) => ({ line: lineAt(error.pos[0], lines), path: '', problem: syntaxProblem(error) })),
    );
  const plain = readContent(document);
  if (plain instanceof ContentError) return fail({ line: lineAt(plain.offset, lines), path: '', problem: plain.problem });
  if (typeof plain !== 'object' || plain === null || Array.isArray(plain)) {
    return fail({ line: 1, path: '', problem: 'must have the fields upstreams and models' });
  }
  return { document, lines, plain };
}

/** Returns the line in which a text exceeds `LEXEMES_MAX`. The lexer keeps nothing of what it has read. */
function longTextAt(text: string): number | undefined {
  if (text.length <= LEXEMES_MAX) return undefined;
  let count = 0;
  let line = 1;
  for (const lexeme of new Lexer().lex(text)) {
    count += 1;
    if (count > LEXEMES_MAX) return line;
    line += lexeme.split('\n').length - 1;
  }
  return undefined;
}

function readContent(document: Document.Parsed): unknown {
  try {
    return resolveContent(document);
  } catch (error) {
    if (error instanceof ContentError) return error;
    throw error;
  }
}

function syntaxProblem({ code, message }: YAMLError): string {
  if (code === 'MULTIPLE_DOCS') return 'must be one document, without a second --- part';
  if (code === 'RESOURCE_EXHAUSTION') return 'not valid YAML: nested too deeply';
  const [line = message] = message.split('\n', 1);
  // After a colon the parser quotes the text at fault, which may be a secret, and problems are logged. A tag is no secret.
  return `not valid YAML: ${code === 'TAG_RESOLVE_FAILED' ? line : line.replace(/: .*$/, '')}`;
}
