import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { type Document, isAlias, isMap, isNode, isScalar, isSeq, LineCounter, type Node, parseDocument, visit } from 'yaml';
import { NAME_LENGTH_MAX } from '#contracts/rules/bounds.js';
import type { TenantsFile as Content } from '#contracts/tenants-file.js';
import { readTextFile } from '../read-file.js';
import { UsageError } from '../usage-error.js';

/** Characters of a file. Ten thousand accounts with twenty keys each have some twenty million. */
const FILE_LENGTH_MAX = 50_000_000;
/** Uses of anchors, each counted with the values below it. */
const ALIASES_MAX = 1_000_000;
const FAULTS_MAX = 200;

type Path = readonly (string | number)[];

/** A fault of the file. Line and column begin with 1. */
export interface FileFault {
  line: number;
  column: number;
  /** `accounts[0].projects[1].name`; empty for the whole file. */
  field: string;
  problem: string;
}

/** Thrown for a file with faults. Its message has a line for each. */
export class TenantsFileError extends UsageError {
  constructor(
    readonly fileName: string,
    readonly faults: readonly FileFault[],
  ) {
    const shown = faults
      .slice(0, FAULTS_MAX)
      .map(({ line, column, field, problem }) => `${fileName}:${line}:${column}: ${field && `${field}: `}${problem}`);
    const more = faults.length - shown.length;
    super(['the file has faults, and nothing was changed', ...shown, ...(more > 0 ? [`and ${more} more`] : [])].join('\n'));
  }
}

export interface TenantsFile {
  /** Name without its folder, for the journal. */
  name: string;
  /** Hex SHA-256 of the text. */
  digest: string;
  /** Owner of what the file names. Undefined: the file does not say. */
  source: string | undefined;
  /** Unchecked: billing finds their faults. */
  accounts: Content['accounts'];
  /** Returns the fault of a field. One that the file does not have is where its parent is. */
  fault(path: Path, problem: string): FileFault;
}

/** Reads a tenants file. @throws {TenantsFileError} for what is no YAML, or no list of accounts; `UsageError` for no file. */
export async function readTenantsFile(file: string): Promise<TenantsFile> {
  return parseTenantsFile(await readTextFile(file, FILE_LENGTH_MAX), file);
}

export function parseTenantsFile(text: string, file: string): TenantsFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, version: '1.2' });
  const at = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const faults = [...document.errors, ...document.warnings].map(
    ({ pos, code, message }): FileFault => ({ ...at(pos[0]), field: '', problem: describeSyntax(code, message) }),
  );
  faults.push(...findReferences(document).map(({ offset, problem }) => ({ ...at(offset), field: '', problem })));
  if (faults.length > 0) throw new TenantsFileError(file, faults);
  const fault = (path: Path, problem: string): FileFault => ({ ...at(findOffset(path, document)), field: renderPath(path), problem });
  const refuse = (path: Path, problem: string): never => {
    throw new TenantsFileError(file, [fault(path, problem)]);
  };
  const plain = readContent(document, refuse);
  if (!isRecord(plain)) return refuse([], 'must have the field accounts');
  const unknown = Object.keys(plain).filter((name) => name !== 'accounts' && name !== 'source');
  if (unknown.length > 0)
    throw new TenantsFileError(
      file,
      unknown.map((name) => fault([name], 'is not a field')),
    );
  const { accounts, source } = plain;
  if (source !== undefined && !isSource(source)) return refuse(['source'], `must be a text of up to ${NAME_LENGTH_MAX} characters`);
  if (!Array.isArray(accounts)) return refuse(accounts === undefined ? [] : ['accounts'], 'must be a list of accounts');
  const stray = accounts.flatMap((account, index) => (isRecord(account) ? [] : [fault(['accounts', index], 'must be a group of fields')]));
  const faultsInList = [...stray, ...findTwice(accounts, fault)];
  if (faultsInList.length > 0) throw new TenantsFileError(file, faultsInList);
  return { name: basename(file), digest: createHash('sha256').update(text).digest('hex'), source, accounts, fault };
}

function isSource(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= NAME_LENGTH_MAX;
}

/**
 * Finds aliases of no value, or of one that has the alias in it, which has no end. Also keys that are no plain names: another form of a name
 * could be there twice.
 */
function findReferences(document: Document.Parsed): { offset: number; problem: string }[] {
  const found: { offset: number; problem: string }[] = [];
  const refuse = (node: unknown, problem: string): void => {
    found.push({ offset: (isNode(node) ? node.range?.[0] : undefined) ?? 0, problem });
  };
  if (document.errors.length > 0) return found;
  visit(document, {
    Pair(_, { key }) {
      if (!isScalar(key)) refuse(key, 'a field must be a plain name');
    },
    Alias(_, alias, path) {
      const target = alias.resolve(document);
      if (target === undefined) refuse(alias, `*${alias.source} names no anchor before it`);
      else if (path.includes(target)) refuse(alias, `*${alias.source} is in the value that it names`);
    },
  });
  return found;
}

/** Two entries of one account would undo each other. */
function findTwice(accounts: readonly unknown[], fault: TenantsFile['fault']): FileFault[] {
  const seen = new Set<unknown>();
  return accounts.flatMap((account, index) => {
    const { accountId, name } = (account ?? {}) as { accountId?: unknown; name?: unknown };
    const field = accountId === undefined ? 'name' : 'accountId';
    const value = accountId ?? name;
    const known = value !== undefined && seen.has(value);
    seen.add(value);
    return known ? [fault(['accounts', index, field], 'is there twice')] : [];
  });
}

function readContent(document: Document.Parsed, refuse: (path: Path, problem: string) => never): unknown {
  try {
    return document.toJS({ maxAliasCount: ALIASES_MAX });
  } catch (error) {
    return refuse([], `not valid YAML: ${(error as Error).message}`);
  }
}

function describeSyntax(code: string, message: string): string {
  if (message.startsWith('Maximum call stack')) return 'is nested too deeply';
  return code === 'MULTIPLE_DOCS' ? 'must be one document, without a second --- part' : `not valid YAML: ${message.split('\n', 1)[0]}`;
}

function renderPath(path: Path): string {
  return path.reduce<string>((text, step) => (typeof step === 'number' ? `${text}[${step}]` : text === '' ? step : `${text}.${step}`), '');
}

function findOffset(path: Path, document: Document.Parsed): number {
  let node: unknown = document.contents;
  let offset = document.contents?.range?.[0] ?? 0;
  for (const step of path) {
    const container = isAlias(node) ? node.resolve(document) : node;
    if (isMap<Node, unknown>(container)) {
      const pair = container.items.find(({ key }) => isScalar(key) && String(key.value) === String(step));
      if (!pair) return offset;
      offset = pair.key.range?.[0] ?? offset;
      node = pair.value;
    } else if (isSeq<Node>(container) && container.items[Number(step)]) {
      node = container.items[Number(step)];
      offset = (node as Node).range?.[0] ?? offset;
    } else return offset;
  }
  return offset;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
