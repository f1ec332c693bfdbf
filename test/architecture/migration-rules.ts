/** A folder of `prisma/migrations` with the text of its `migration.sql`. */
export interface Migration {
  name: string;
  sql: string;
}

/** One statement: its text without comments, strings and bodies of functions, in one line. */
interface Statement {
  text: string;
  /** Text of a DO block. */
  body: string;
}

/** A table in a statement, with its schema. */
const TABLE = String.raw`(?:IF (?:NOT )?EXISTS )?(?:ONLY )?([\w."]+)`;
const TOKENS = /--[^\n]*|\/\*[\s\S]*?\*\/|\$(\w*)\$([\s\S]*?)\$\1\$|'(?:[^']|'')*'/g;
const NEEDS = /_needs_(\d{14})$/;

/** Statements of an online migration, in the form that scripts/prisma/apply-migrations.ts reads. Each may be repeated after an interruption. */
const ONLINE = [
  /^CREATE (UNIQUE )?INDEX CONCURRENTLY IF NOT EXISTS \w+ ON \w+\.\w+ /,
  /^DROP INDEX CONCURRENTLY IF EXISTS \w+\.\w+$/,
  /^REINDEX \(?\w+ CONCURRENTLY /,
  /^ALTER TABLE [\w.]+ VALIDATE CONSTRAINT \w+$/,
];
const TAKE_AWAY = /^DROP (TABLE|SCHEMA|VIEW|FUNCTION|TYPE)\b|^ALTER (TABLE|TYPE|FUNCTION|SCHEMA)\b.*\bRENAME\b/i;

/**
 * Returns a complaint for each statement that would stop traffic on a large table, fail on existing rows, not survive an interruption, or
 * take something from the version that runs meanwhile. Knows the statements that migrations use; a table may be treated at will in the
 * migration that creates it.
 */
export function unsafeStatements(migrations: readonly Migration[], since: string): string[] {
  return migrations.flatMap(({ name, sql }, position) => {
    if (name < since) return [];
    const earlier = migrations.slice(0, position);
    const statements = splitStatements(sql);
    const faults = sql.startsWith('-- online') ? faultsOnline(statements) : faultsAtOnce(statements, earlier, NEEDS.test(name));
    return [...faults, ...findNameFaults(name, earlier)].map((fault) => `${name}: ${fault}`);
  });
}

export function splitStatements(sql: string): Statement[] {
  const bodies: string[] = [];
  const plain = sql.replace(TOKENS, (token, _tag, body: string | undefined) => {
    if (token.startsWith('-') || token.startsWith('/')) return ' ';
    if (body === undefined) return "''";
    bodies.push(body);
    return `$${bodies.length - 1}$`;
  });
  return plain.split(';').flatMap((part) => {
    const text = part.replace(/\s+/g, ' ').trim();
    const [, body] = /\$(\d+)\$/.exec(text) ?? [];
    return text === '' ? [] : { text, body: bodies[Number(body)] ?? '' };
  });
}

/**
 * Returns a complaint for each name that has no time of the clock: one after `now`, or one before a migration that was there before. A
 * database that has that one would get the new one too, a new database in another order. `names` are in the order in which they were added.
 */
export function misdatedMigrations(names: readonly string[], now: Date): string[] {
  return names.flatMap((name, position) => {
    const [, ...parts] = /^(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})_\w+$/.exec(name) ?? [];
    const time = new Date(`${parts.slice(0, 3).join('-')}T${parts.slice(3).join(':')}Z`);
    if (Number.isNaN(time.getTime())) return [`${name}: does not begin with a time`];
    if (time > now) return [`${name}: its time is in the future: take it from the clock, in UTC`];
    const later = names.slice(0, position).find((earlier) => earlier > name);
    return later === undefined ? [] : [`${name}: sorts before ${later}, which was there before: give it the time of now`];
  });
}

function findNameFaults(name: string, earlier: readonly Migration[]): string[] {
  const [, needed] = NEEDS.exec(name) ?? [];
  if (needed === undefined || earlier.some((one) => one.name.startsWith(needed))) return [];
  return [`there is no earlier migration of ${needed}`];
}

function faultsOnline(statements: readonly Statement[]): string[] {
  const [first] = statements;
  if (statements.length !== 1 || first === undefined) return ['an online migration has one statement'];
  const { text, body } = first;
  if (ONLINE.some((form) => form.test(text)) || (/^DO /.test(text) && /\bCOMMIT\b/.test(body))) return [];
  return [`${start(text)}: cannot be repeated online. Write CONCURRENTLY IF [NOT] EXISTS with the schema, or a DO block with COMMIT`];
}

function faultsAtOnce(statements: readonly Statement[], earlier: readonly Migration[], mayTakeAway: boolean): string[] {
  const created = new Set(statements.flatMap(({ text }) => tableAfter('CREATE TABLE', text) ?? []));
  return statements.flatMap(({ text }) => {
    const fault = findFault(text, created, earlier, mayTakeAway);
    return fault === undefined ? [] : [`${start(text)}: ${fault}`];
  });
}

/** Returns the fault of a statement that runs in a transaction. */
function findFault(text: string, created: ReadonlySet<string>, earlier: readonly Migration[], mayTakeAway: boolean): string | undefined {
  if (/\bCONCURRENTLY\b|^VACUUM\b/i.test(text)) return 'cannot run in a transaction: make it an online migration';
  if (/^DO /i.test(text)) return 'write the statements out, or make it an online migration that commits after each batch';
  if (/^(SELECT|CALL)\b/i.test(text)) return 'runs statements that are not checked: write them out';
  if (/^(LOCK|CLUSTER|REINDEX|REFRESH)\b/i.test(text)) return 'blocks requests for as long as it runs';
  if (/^DROP INDEX\b/i.test(text)) return 'waits for every query of the table: drop it CONCURRENTLY, online';
  if (!mayTakeAway && TAKE_AWAY.test(text)) return TAKES_AWAY;
  const indexed = /^CREATE (?:UNIQUE )?INDEX/i.test(text) ? tableAfter('CREATE .*? ON', text) : undefined;
  if (indexed !== undefined && !created.has(indexed)) return 'blocks writes while it reads the table: build it CONCURRENTLY, online';
  const changed = tableAfter('(?:WITH .*?)?(?:UPDATE|DELETE FROM|TRUNCATE(?: TABLE)?|MERGE INTO)', text);
  if (changed !== undefined && !created.has(changed))
    return 'locks many rows until the end of the migration: change them in batches, online';
  if (/^(INSERT|WITH|CREATE)\b.*\bSELECT\b.*\bFROM\b/i.test(text) && !/^CREATE (OR REPLACE )?(FUNCTION|VIEW)\b/i.test(text))
    return 'reads a table under the locks of its migration: copy the rows in batches, online';
  const attached = tableAfter('ALTER TABLE .* ATTACH PARTITION', text);
  if (attached !== undefined && !created.has(attached)) return 'reads the whole partition, and the default one, under an exclusive lock';
  const altered = tableAfter('ALTER TABLE', text);
  if (altered === undefined || created.has(altered)) return undefined;
  const actions = splitActions(text.replace(new RegExp(`^ALTER TABLE ${TABLE} `, 'i'), ''));
  return actions.map((action) => findActionFault(altered, action, earlier, mayTakeAway)).find((fault) => fault !== undefined);
}

const TAKES_AWAY = 'takes something from versions that run: end the name with _needs_<time of the migration that each of them must have>';
const READS_ALL = 'reads the whole table under an exclusive lock: add it NOT VALID, then VALIDATE CONSTRAINT online';
const REWRITES = 'rewrites the table under an exclusive lock';

/** Returns the fault of one action of ALTER TABLE. */
function findActionFault(table: string, action: string, earlier: readonly Migration[], mayTakeAway: boolean): string | undefined {
  const [, required] = /^ALTER (?:COLUMN )?"?(\w+)"? SET NOT NULL$/i.exec(action) ?? [];
  if (required !== undefined)
    return isChecked(table, required, earlier) ? undefined : `reads the whole table: first validate a CHECK (${required} IS NOT NULL)`;
  if (/^ALTER (COLUMN )?\S+ (SET DATA )?TYPE\b|^SET (LOGGED|UNLOGGED|TABLESPACE|ACCESS METHOD)\b/i.test(action)) return REWRITES;
  if (/^VALIDATE CONSTRAINT\b/i.test(action)) return 'reads the whole table under the locks of its migration: make it an online migration';
  if (/^DROP (?!CONSTRAINT\b|EXPRESSION\b|IDENTITY\b)|^RENAME\b|^SET SCHEMA\b|^DETACH PARTITION\b/i.test(action))
    return mayTakeAway ? undefined : TAKES_AWAY;
  if (/^ADD (CONSTRAINT \w+ )?(UNIQUE|PRIMARY KEY|EXCLUDE)\b(?! USING INDEX)/i.test(action))
    return 'builds an index under an exclusive lock: build it online, then ADD CONSTRAINT … USING INDEX';
  if (/^ADD (CONSTRAINT|CHECK|FOREIGN KEY)\b/i.test(action)) return / NOT VALID$| USING INDEX /i.test(action) ? undefined : READS_ALL;
  return /^ADD /i.test(action) ? findColumnFault(action) : undefined;
}

/** Returns the fault of ADD COLUMN. A default that is the same for all rows is stored once, without a rewrite. */
function findColumnFault(action: string): string | undefined {
  if (/\b(small|big)?serial\b|\bGENERATED\b/i.test(action)) return REWRITES;
  const [, call] = /\bDEFAULT \(?([\w.]+)\(/i.exec(action) ?? [];
  if (call !== undefined && call !== 'now') return REWRITES;
  if (/\bNOT NULL\b/i.test(action) && !/\bDEFAULT\b/i.test(action)) return 'fails if the table has rows: give it a DEFAULT';
  return /\b(CHECK|REFERENCES|UNIQUE|PRIMARY KEY)\b/i.test(action) ? READS_ALL : undefined;
}

/** True when an earlier migration has validated a CHECK that the column is not null. */
function isChecked(table: string, column: string, earlier: readonly Migration[]): boolean {
  const texts = earlier
    .flatMap(({ sql }) => splitStatements(sql).map(({ text }) => text))
    .filter((text) => tableAfter('ALTER TABLE', text) === table);
  const check = new RegExp(String.raw`ADD CONSTRAINT (\w+) CHECK \(${column} IS NOT NULL\) NOT VALID`, 'i');
  const names = texts.flatMap((text) => check.exec(text)?.[1] ?? []);
  return names.some((name) => texts.some((text) => text.toLowerCase().endsWith(`validate constraint ${name.toLowerCase()}`)));
}

function tableAfter(verb: string, text: string): string | undefined {
  return new RegExp(`^${verb} ${TABLE}`, 'i').exec(text)?.[1]?.toLowerCase();
}

/** Splits the actions of ALTER TABLE at the commas outside parentheses. */
function splitActions(text: string): string[] {
  const actions = [''];
  let depth = 0;
  for (const character of text) {
    if (character === '(') depth++;
    if (character === ')') depth--;
    if (character === ',' && depth === 0) actions.push('');
    else actions[actions.length - 1] += character;
  }
  return actions.map((action) => action.trim());
}

function start(text: string): string {
  return text.split(' ', 6).join(' ');
}
