import { isUUID } from 'class-validator';
import type { ChildKeyResolveRequest } from '#contracts/billing/child-keys.js';
import type { ResolvedKey } from '#contracts/billing/keys.js';
import type { ProjectPolicy } from '#contracts/billing/project-policy.js';
import { parseSigned, provesSignature } from '#contracts/child-keys/child-key.js';
import { ServiceError } from '#contracts/service-error.js';
import type { PgConnection } from '#database/pg-connection.js';
import type { PrismaClient } from '#database/prisma-client.js';
import { Lane, type LaneOptions } from '../batch/lane.js';
import { KEY_IS_ACTIVE } from '../payer/key-status.js';
import { type ChildBudget, findDelegation, SELECT_CHILD_BUDGET } from './delegation.js';
import { storedDigest } from './key-digest.js';

const SELECT_KEYS = `SELECT encode(k.digest, 'hex') AS digest, k.id::text AS "keyId", p.id::text AS "projectId", p.account_id::text AS "accountId",
      extract(epoch FROM k.expires_at - clock_timestamp())::float8 * 1000 AS "validForMs",
      nullif(k.models, '{}') AS models, nullif(k.networks, '{}') AS networks, nullif(p.tags, '{}') AS tags, p.policy,
      a.price_plan AS "pricePlan", a.next_price_plan AS "nextPricePlan", a.next_price_plan_from AS "nextPricePlanFrom",
      nullif(k.revoked_children, '{}') AS "revokedChildren", c.*
    FROM billing.api_key k JOIN billing.project p ON p.id = k.project_id JOIN billing.account a ON a.id = p.account_id
      LEFT JOIN LATERAL (${SELECT_CHILD_BUDGET}) c ON a.budget_count > 0
    WHERE ${KEY_IS_ACTIVE} AND p.enabled`;

const FIND_KEYS = { name: 'find_keys', text: `${SELECT_KEYS} AND k.digest = ANY ($1::bytea[])` };
const FIND_PARENTS = { name: 'find_parents', text: `${SELECT_KEYS} AND k.id = ANY ($1::uuid[])` };

/** Null: the key has no such limit, its project no tags or policy, its account no price plan. */
interface KeyRow extends Pick<ResolvedKey, 'keyId' | 'projectId' | 'accountId'>, ChildBudget {
  digest: string;
  validForMs: number | null;
  models: string[] | null;
  networks: string[] | null;
  tags: string[] | null;
  policy: ProjectPolicy | null;
  pricePlan: string | null;
  nextPricePlan: string | null;
  /** Null: there is no next plan. */
  nextPricePlanFrom: Date | null;
  revokedChildren: string[] | null;
}

/** A key is asked for by its stored digest, or by its id for a child key. */
type Asked = { digest: Uint8Array } | { keyId: string };

/**
 * Finds keys by their digests. Lookups that arrive during a query share the next one, so that guessing keys costs the database one query at
 * a time.
 */
export class KeyLookups {
  private readonly lane: Lane<Asked, ResolvedKey | undefined>;

  constructor(
    private readonly pepper: string,
    options: Omit<LaneOptions<Asked, ResolvedKey | undefined>, 'work'>,
  ) {
    const work = (connection: PgConnection, asked: readonly Asked[]) => findKeys(connection, asked, pepper);
    this.lane = new Lane({ ...options, work, isPerishable: () => true });
  }

  /**
   * Returns the key with this digest and its owner. A frozen account is no error.
   * @throws {ServiceError} `invalid_api_key` when the key is unknown or not active, or its project disabled; `unavailable` when too many
   * lookups wait or the database is away.
   */
  async resolve(keyDigest: string): Promise<ResolvedKey> {
    return found(await this.lane.push({ digest: storedDigest(keyDigest, this.pepper) }));
  }

  /**
   * Returns the key of a child key that it has signed, as `resolve` does.
   * @throws {ServiceError} as `resolve`, and `invalid_api_key` for a child key that the key has not signed.
   */
  async resolveChild({ signed, proof }: ChildKeyResolveRequest): Promise<ResolvedKey> {
    const keyId = parseSigned(signed)?.keyId ?? '';
    const key = isUUID(keyId, 'loose') ? found(await this.lane.push({ keyId: keyId.toLowerCase() })) : found(undefined);
    if (!key.delegation || !provesSignature(proof, signed, Buffer.from(key.delegation.signingKey, 'base64'))) return found(undefined);
    return key;
  }

  open(): Promise<void> {
    return this.lane.open();
  }

  close(): Promise<void> {
    return this.lane.close();
  }
}

/** Returns a key by its id, without what its child keys may be. @throws {ServiceError} as `KeyLookups.resolve`. */
export async function findKey(prisma: PrismaClient, keyId: string): Promise<ResolvedKey> {
  const rows = await prisma.$queryRawUnsafe<KeyRow[]>(`${SELECT_KEYS} AND k.id = $1::uuid`, keyId);
  return found(rows[0] && resolvedKey(rows[0]));
}

function found(key: ResolvedKey | undefined): ResolvedKey {
  if (!key) throw new ServiceError('invalid_api_key', 'The API key is not valid.');
  return key;
}

async function findKeys(connection: PgConnection, asked: readonly Asked[], pepper: string): Promise<(ResolvedKey | undefined)[]> {
  const wanted = asked.map((one) => ('keyId' in one ? one.keyId : Buffer.from(one.digest).toString('hex')));
  const digests = asked.flatMap((one) => ('digest' in one ? one.digest : []));
  const keyIds = asked.flatMap((one) => ('keyId' in one ? one.keyId : []));
  const keys = new Map<string, ResolvedKey>();
  if (digests.length > 0) {
    const hex = [...new Set(digests.map((digest) => Buffer.from(digest).toString('hex')))];
    const { rows } = await connection.query<KeyRow>({ ...FIND_KEYS, values: [byteaArray(hex)] });
    for (const row of rows) keys.set(row.digest, resolvedKey(row, pepper));
  }
  if (keyIds.length > 0) {
    const { rows } = await connection.query<KeyRow>({ ...FIND_PARENTS, values: [[...new Set(keyIds)]] });
    for (const row of rows) keys.set(row.keyId, resolvedKey(row, pepper));
  }
  return wanted.map((name) => keys.get(name));
}

/** Leaves out the key that signs child keys where no pepper is given. */
function resolvedKey({ digest, childBudgetId, childLimit, revokedChildren, ...row }: KeyRow, pepper?: string): ResolvedKey {
  const { validForMs, models, networks, tags, policy, pricePlan, nextPricePlan, nextPricePlanFrom: from, ...key } = row;
  const lists = { ...(models && { models }), ...(networks && { networks }), ...(tags && { tags }), ...(policy && { policy }) };
  const plans = {
    ...(pricePlan !== null && { pricePlan }),
    ...(from !== null && { nextPricePlan: { pricePlan: nextPricePlan, from: from.toISOString() } }),
  };
  const delegation =
    pepper === undefined ? undefined : findDelegation({ keyId: key.keyId, childBudgetId, childLimit, revokedChildren }, pepper);
  return { ...key, ...(validForMs !== null && { validForMs }), ...lists, ...(delegation && { delegation }), ...plans };
}

/** Returns a Postgres array of `bytea` from hexadecimal digits. */
function byteaArray(values: readonly string[]): string {
  return `{${values.map((value) => `"\\\\x${value}"`).join(',')}}`;
}
