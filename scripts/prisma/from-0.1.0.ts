import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

const FIRST_BASELINE = '20261128143000_billing';
/** The migrations that replace those of version 0.1.0. */
export const BASELINES = [FIRST_BASELINE, '20261128143001_catalog', '20261128143002_panel', '20261128143003_activity'];

/** SHA-256 of the names of the migrations of version 0.1.0, one a line. */
const NAMES_OF_0_1_0 = 'f75a73ef14a95e62bf8ac83a5e581548cc0fb7b591fca81a1b732564a6588ced';

/** The migrations of a database of version 0.1.0, and the SQL that brings it to the state of the baselines. */
export interface Move {
  former: string[];
  sql: string;
}

/**
 * Returns the migrations of a database of version 0.1.0 in `applied`, and the SQL that brings it to the state of the baselines, of which
 * `readMigration` returns the text. Undefined when the database is empty, or is there already.
 * @throws {Error} when the database has other migrations than version 0.1.0.
 */
export function moveFrom010(applied: string[], readMigration: (name: string) => string): Move | undefined {
  const former = applied.filter((name) => name < FIRST_BASELINE).sort();
  if (former.length === 0) return undefined;
  const parts = splitCost(readFileSync(new URL('./from-0.1.0.sql', import.meta.url), 'utf8'));
  const names = former.filter((name) => !parts.has(name)).join('\n');
  if (createHash('sha256').update(names).digest('hex') !== NAMES_OF_0_1_0)
    throw new Error('its migrations are not those of version 0.1.0: migrate it with that version first, or use an empty database');
  const missing = [...parts].flatMap(([name, sql]) => (former.includes(name) ? [] : sql));
  const functions = BASELINES.flatMap((name) => readMigration(name).match(/^CREATE FUNCTION .*?^\$\$;$/gms) ?? []);
  return { former, sql: [...missing, ...functions.map((text) => text.replace('CREATE', 'CREATE OR REPLACE'))].join('\n') };
}

/** Texts of the parts of a file by their names, which stand on lines such as `-- ==== name`. */
export function splitCost(text: string): Map<string, string> {
  const [, ...parts] = text.split(/^-- ==== (.+)\n/m);
  return new Map(parts.flatMap((part, index) => (index % 2 === 0 ? [[part, parts[index + 1] ?? '']] : [])));
}
