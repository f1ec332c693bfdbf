import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { BASELINES } from '../../scripts/prisma/from-0.1.0.ts';
import { type Migration, misdatedMigrations, splitStatements, unsafeStatements } from './migration-rules.js';

/** Migrations after the baselines, which make everything in an empty database. */
const SINCE = `${BASELINES.at(-1)}~`;

const MIGRATIONS: Migration[] = readdirSync('prisma/migrations', { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => ({ name, sql: readFileSync(`prisma/migrations/${name}/migration.sql`, 'utf8') }))
  .sort((one, other) => one.name.localeCompare(other.name));

/** Names of the migrations in the order of their commits, as far as the history is here; then those that are not committed. */
function namesAsAdded(): string[] {
  const log = ['log', '--reverse', '--no-renames', '--diff-filter=A', '--name-only', '--format=', '--', 'prisma/migrations'];
  const { stdout } = spawnSync('git', log, { encoding: 'utf8' });
  const names = MIGRATIONS.map(({ name }) => name);
  const committed = (stdout ?? '').split('\n').flatMap((path) => path.split('/')[2] ?? []);
  return [...new Set([...committed.filter((name) => names.includes(name)), ...names])];
}

test('no migration stops traffic, and each survives an interruption', () => {
  expect(MIGRATIONS.map(({ name }) => name)).toEqual(expect.arrayContaining(BASELINES));
  expect(unsafeStatements(MIGRATIONS, SINCE)).toEqual([]);
});

test('migrations are dated by the clock, and a new one sorts after all others', () => {
  expect(misdatedMigrations(namesAsAdded(), new Date())).toEqual([]);
});

test('a migration of the future, one before its predecessor and one without a time are refused', () => {
  const names = ['20270102000000_first', '20270101235959_second', '20270103000001_third', '20271301000000_fourth', 'fifth'];
  expect(misdatedMigrations(names, new Date('2027-01-03T00:00:00Z'))).toEqual([
    '20270101235959_second: sorts before 20270102000000_first, which was there before: give it the time of now',
    '20270103000001_third: its time is in the future: take it from the clock, in UTC',
    '20271301000000_fourth: does not begin with a time',
    'fifth: does not begin with a time',
  ]);
});

/** Returns the complaints about a migration that follows `earlier`, without its name. */
function faults(sql: string, { name = '20270101000000_new', earlier = [] as string[] } = {}): string[] {
  const before = earlier.map((text, index) => ({ name: `2026010100000${index}_earlier`, sql: text }));
  return unsafeStatements([...before, { name, sql }], '2027').map((text) => text.replace(`${name}: `, ''));
}

test.each([
  ['an index', 'CREATE INDEX a ON billing.hold (id)', /build it CONCURRENTLY, online$/],
  ['a concurrent index', 'CREATE INDEX CONCURRENTLY IF NOT EXISTS a ON billing.hold (id)', /make it an online migration$/],
  ['a volatile default', 'ALTER TABLE billing.hold ADD COLUMN a uuid DEFAULT gen_random_uuid()', /rewrites the table/],
  ['a generated column', 'ALTER TABLE billing.hold ADD COLUMN a int GENERATED ALWAYS AS (1) STORED', /rewrites the table/],
  ['a serial column', 'ALTER TABLE billing.hold ADD COLUMN a bigserial', /rewrites the table/],
  ['another type', 'ALTER TABLE billing.hold ADD COLUMN b int, ALTER COLUMN a TYPE bigint', /rewrites the table/],
  ['a required column without a default', 'ALTER TABLE billing.hold ADD COLUMN a int NOT NULL', /fails if the table has rows/],
  ['a column with a CHECK', 'ALTER TABLE billing.hold ADD COLUMN a int CHECK (a > 0)', /add it NOT VALID/],
  ['a column with a reference', 'ALTER TABLE billing.hold ADD COLUMN a uuid REFERENCES billing.hold (id)', /add it NOT VALID/],
  ['a CHECK', 'ALTER TABLE billing.hold ADD CONSTRAINT c CHECK (a > 0)', /add it NOT VALID/],
  ['a UNIQUE', 'ALTER TABLE billing.hold ADD CONSTRAINT c UNIQUE (a)', /USING INDEX$/],
  ['NOT NULL', 'ALTER TABLE billing.hold ALTER COLUMN a SET NOT NULL', /first validate a CHECK \(a IS NOT NULL\)$/],
  ['VALIDATE in a transaction', 'ALTER TABLE billing.hold VALIDATE CONSTRAINT c', /make it an online migration$/],
  ['an UPDATE', "UPDATE billing.hold SET model = 'a;b'", /in batches, online$/],
  ['an UPDATE of a query', 'WITH a AS (SELECT 1) UPDATE billing.hold SET a = 1', /in batches, online$/],
  [
    'a copy of rows',
    'CREATE TABLE billing.a (id uuid); INSERT INTO billing.a SELECT id FROM billing.hold',
    /copy the rows in batches, online$/,
  ],
  [
    'a copy of rows of a query',
    'WITH a AS (SELECT id FROM billing.hold) INSERT INTO billing.b SELECT id FROM a',
    /copy the rows in batches, online$/,
  ],
  ['a table of the rows of another', 'CREATE TABLE billing.a AS SELECT id FROM billing.hold', /copy the rows in batches, online$/],
  ['a function', 'CREATE FUNCTION pg_temp.f() RETURNS void LANGUAGE sql AS $$ DROP TABLE x $$; SELECT pg_temp.f()', /write them out$/],
  ['a procedure', 'CALL billing.change_all()', /write them out$/],
  ['a dropped index', 'DROP INDEX billing.a', /drop it CONCURRENTLY, online$/],
  [
    'an attached table',
    'CREATE TABLE billing.a (id uuid) PARTITION BY RANGE (id); ALTER TABLE billing.a ATTACH PARTITION billing.hold DEFAULT',
    /reads the whole partition/,
  ],
  ['a detached partition', 'ALTER TABLE billing.settlement DETACH PARTITION journal.settlement_2027_01', /_needs_/],
  ['an index in lower case', 'create index a on billing.hold (id)', /build it CONCURRENTLY, online$/],
  ['an update in lower case', 'update billing.hold set a = 1', /in batches, online$/],
  ['another type in lower case', 'alter table billing.hold alter column a type bigint', /rewrites the table/],
  ['a CHECK in lower case', 'alter table billing.hold add constraint c check (a > 0)', /add it NOT VALID/],
  ['a required column in lower case', 'Alter Table billing.hold Add Column a int Not Null', /fails if the table has rows/],
  ['a dropped column in lower case', 'alter table billing.hold drop column a', /_needs_/],
  ['a DO block', 'DO $$ BEGIN UPDATE billing.hold SET a = 1; END $$', /commits after each batch$/],
  ['a LOCK', 'LOCK TABLE billing.hold', /blocks requests/],
  ['a dropped column', 'ALTER TABLE billing.hold DROP COLUMN a', /_needs_/],
  ['a renamed table', 'ALTER TABLE billing.hold RENAME TO holds', /_needs_/],
  ['a dropped function', 'DROP FUNCTION billing.demand(boolean, text)', /_needs_/],
  ['two statements online', '-- online\nDO $$ BEGIN COMMIT; END $$; SELECT 1', /^an online migration has one statement$/],
  ['an index online that cannot be repeated', '-- online\nCREATE INDEX CONCURRENTLY a ON billing.hold (id)', /cannot be repeated/],
  ['an index online in lower case', '-- online\ncreate index concurrently if not exists a on billing.hold (id)', /cannot be repeated/],
  ['batches online without COMMIT', '-- online\nDO $$ BEGIN UPDATE billing.hold SET a = 1; END $$', /cannot be repeated/],
])('%s is refused', (_, sql, fault) => {
  expect(faults(sql)).toEqual([expect.stringMatching(fault)]);
});

test.each([
  [
    'a table with its index and rows',
    "CREATE TABLE billing.a (id uuid CHECK (id > '')); CREATE INDEX b ON billing.a (id); DELETE FROM billing.a",
  ],
  ['the same in lower case', 'create table billing.A (id uuid); create index b on billing.a (id); update Billing.a set id = null'],
  ['a row', 'INSERT INTO billing.usage_state (id) VALUES (1)'],
  // Locks the other table for the moment in which the migration commits, as ALTER TABLE does: nothing else that a migration may do takes long.
  ['a table that refers to another', 'CREATE TABLE billing.a (id uuid PRIMARY KEY, hold_id uuid REFERENCES billing.hold (id))'],
  [
    'a partition with its table',
    'CREATE TABLE billing.a (id uuid) PARTITION BY HASH (id); CREATE TABLE billing.b (id uuid); ALTER TABLE billing.a ATTACH PARTITION billing.b DEFAULT',
  ],
  ['a column with a constant default', "ALTER TABLE billing.hold ADD COLUMN a text NOT NULL DEFAULT 'x', ADD COLUMN b numeric(2, 1)"],
  ['a constraint that is not valid yet', 'ALTER TABLE billing.hold ADD CONSTRAINT c CHECK (a IN (1, 2)) NOT VALID'],
  ['a constraint of an index', 'ALTER TABLE billing.hold ADD CONSTRAINT c UNIQUE USING INDEX c'],
  [
    'a trigger and its function',
    'CREATE FUNCTION billing.f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DROP TABLE x; END $$; DROP TRIGGER t ON billing.hold',
  ],
  ['an index online', '-- online: with a reason\nCREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS a ON billing.hold (id)'],
  ['VALIDATE online', '-- online\nALTER TABLE billing.hold VALIDATE CONSTRAINT c'],
  ['batches online', '-- online\nDO $$ BEGIN LOOP UPDATE billing.hold SET a = 1; COMMIT; END LOOP; END $$'],
])('%s passes', (_, sql) => {
  expect(faults(sql)).toEqual([]);
});

test('NOT NULL passes after a validated CHECK of the column', () => {
  const check = 'ALTER TABLE billing.hold ADD CONSTRAINT c CHECK (a IS NOT NULL) NOT VALID';
  const validate = '-- online\nALTER TABLE billing.hold VALIDATE CONSTRAINT c';
  const required = 'ALTER TABLE billing.hold ALTER COLUMN a SET NOT NULL';
  expect([faults(required, { earlier: [check, validate] }), faults(required, { earlier: [check] })]).toEqual([[], [expect.any(String)]]);
});

test('a migration that takes something away names a migration of the oldest version that can run with it', () => {
  const sql = 'ALTER TABLE billing.hold DROP COLUMN a';
  const named = (time: string) => faults(sql, { name: `20270101000000_drop_needs_${time}`, earlier: ['SELECT 1'] });
  expect([named('20260101000000'), named('20260101000009')]).toEqual([[], ['there is no earlier migration of 20260101000009']]);
});

test('statements are read without comments, strings and bodies', () => {
  expect(splitStatements("-- a; b\nSELECT 'it''s; c' /* d; */ ,\n  1; DO $x$ e; $x$")).toEqual([
    { text: "SELECT '' , 1", body: '' },
    { text: 'DO $0$', body: ' e; ' },
  ]);
});
