import type { ChildKeyListReply, ChildKeyListRequest, ListedChildKey } from '#contracts/billing/child-keys.js';
import { CHILD_SECONDS_MAX } from '#contracts/child-keys/narrow-child.js';
import { CHILD_PATH, isBelowChild, readChildEnd } from '#contracts/rules/child-path.js';
import { ServiceError } from '#contracts/service-error.js';
import { Prisma, type PrismaClient } from '#database/prisma-client.js';
import { isCancelled } from '../accounts/prisma-errors.js';
import { parseCursor, renderCursor } from '../paging/page-cursor.js';
import { type ChildBudget, SELECT_CHILD_BUDGET } from './delegation.js';

const LIMIT_DEFAULT = 100;

/**
 * Lists the child keys of a key that have not ended. Nothing has a row for each: they are named by requests of the key in the time that a child
 * key may live, by its open holds, and by the rows of the audit journal of those that were made over NATS. What each has used is in the budget
 * that lets the key have child keys. Without such a budget there are none.
 * @throws {ServiceError} `not_found`, and `invalid_request` for the cursor or for a journal that is too long to read.
 */
export async function listChildKeys(
  prisma: PrismaClient,
  { keyId, limit = LIMIT_DEFAULT, cursor }: ChildKeyListRequest,
): Promise<ChildKeyListReply> {
  const [after] = cursor === undefined ? [] : parseCursor(keyId, cursor, [(value) => CHILD_PATH.test(value)]);
  const key = await readKey(prisma, keyId);
  if (key.childBudgetId === null) return { childKeys: [], nextCursor: null };
  const rows = await prisma.$queryRaw<Row[]>(selectChildKeys(key, keyId, after, limit + 1)).catch(refuseTooLong);
  const childKeys = rows.slice(0, limit).map((row): ListedChildKey => renderChildKey(row, key.revoked));
  const last = rows.length > limit ? childKeys.at(-1) : undefined;
  return { childKeys, nextCursor: last ? renderCursor(keyId, [last.childId]) : null };
}

interface DelegatingKey extends ChildBudget {
  accountId: string;
  revoked: string[];
  /** True when all values of the budget are child keys of this key: it is of the key, which has not been rotated. */
  isOwnBudget: boolean;
}

async function readKey(prisma: PrismaClient, keyId: string): Promise<DelegatingKey> {
  const [key] = await prisma.$queryRaw<DelegatingKey[]>`
    SELECT p.account_id::text AS "accountId", k.revoked_children AS revoked, c.*,
      EXISTS (SELECT FROM billing.budget b WHERE b.id = c."childBudgetId"::uuid AND b.key_id = k.id)
        AND NOT EXISTS (SELECT FROM billing.api_key o WHERE o.root_key_id = k.id) AS "isOwnBudget"
    FROM billing.api_key k JOIN billing.project p ON p.id = k.project_id LEFT JOIN LATERAL (${Prisma.raw(SELECT_CHILD_BUDGET)}) c ON true
    WHERE k.id = ${keyId}::uuid`;
  if (!key) throw new ServiceError('not_found', 'There is no such key.', 'keyId');
  return key;
}

interface Row {
  path: string;
  limit: string;
  spent: string;
  held: string;
}

/** `path` of a chain names the child keys above it too, which may have made no request themselves. */
const CHAIN = `unnest(ARRAY[path, split_part(path, '.', 1), split_part(path, '.', 1) || '.' || split_part(path, '.', 2)])`;
/** Second in which a child key ends. */
const ENDS_AT = `substring(path FROM '(\\d{10})-[0-9a-f]{16}$')::bigint`;

function selectChildKeys(
  { accountId, childBudgetId, childLimit, isOwnBudget }: DelegatingKey,
  keyId: string,
  after: string | undefined,
  rowsMax: number,
): Prisma.Sql {
  // Child keys end with the budget, so that none is older.
  const oldest = new Date(Date.now() - CHILD_SECONDS_MAX * 1_000);
  const since = Prisma.sql`greatest(${oldest}::timestamptz, (SELECT created_at FROM billing.budget WHERE id = ${childBudgetId}::uuid))`;
  const used = isOwnBudget
    ? Prisma.sql`SELECT value AS path FROM billing.budget_value WHERE budget_id = ${childBudgetId}::uuid AND window_end > now()`
    : Prisma.sql`
        SELECT attribution ->> 'child' AS path FROM billing.settlement
        WHERE account_id = ${accountId}::uuid AND project_id IS NOT NULL AND settled_at >= ${since} AND key_id = ${keyId}::uuid
        UNION SELECT attribution ->> 'child' FROM billing.hold WHERE account_id = ${accountId}::uuid AND key_id = ${keyId}::uuid`;
  return Prisma.sql`
    WITH used AS (${used}), minted AS (
      SELECT after ->> 'childId' AS path, (after ->> 'limitPicoUsd')::numeric AS own FROM billing.audit
      WHERE target = ${`key/${keyId}`} AND action = 'child-key.create' AND at >= ${since}
    ), named AS (
      SELECT path FROM minted UNION SELECT ${Prisma.raw(CHAIN)} FROM used WHERE path IS NOT NULL
    )
    SELECT path, least(v.own_limit, m.own, ${childLimit}::numeric)::text AS limit, coalesce(v.spent, 0)::text AS spent, coalesce(v.held, 0)::text AS held
    FROM named LEFT JOIN minted m USING (path)
      LEFT JOIN billing.budget_value v ON v.budget_id = ${childBudgetId}::uuid AND v.window_end = to_timestamp(${Prisma.raw(ENDS_AT)}) AND v.value = path
    WHERE path ~ '[0-9a-f]$' AND path COLLATE "C" > ${after ?? ''} AND ${Prisma.raw(ENDS_AT)} > extract(epoch FROM now())
    ORDER BY path COLLATE "C" LIMIT ${rowsMax}`;
}

/** Throws `invalid_request` for a statement that exceeded its time limit, and other errors as they are. */
function refuseTooLong(error: unknown): never {
  if (!isCancelled(error)) throw error;
  const message =
    'The account has too many requests to find the child keys of one key among them. Set the budget of child keys of the key itself: then they are found in it.';
  throw new ServiceError('invalid_request', message, 'keyId', { cause: error });
}

function renderChildKey({ path, limit, spent, held }: Row, revoked: readonly string[]): ListedChildKey {
  return {
    childId: path,
    expiresAt: new Date(readChildEnd(path)).toISOString(),
    limitPicoUsd: limit,
    spentPicoUsd: spent,
    heldPicoUsd: held,
    isRevoked: revoked.some((one) => isBelowChild(path, one)),
  };
}
