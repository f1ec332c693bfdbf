import type { ResolvedKey } from '#contracts/billing/keys.js';
import { ServiceError } from '#contracts/service-error.js';
import type { PgConnection } from '#database/pg-connection.js';
import type { PrismaClient } from '#database/prisma-client.js';
import { Lane, type LaneOptions } from '../batch/lane.js';
import { KEY_IS_ACTIVE } from '../payer/key-status.js';
import { storedDigest } from './key-digest.js';

const SELECT_KEYS = `SELECT encode(k.digest, 'hex') AS digest, k.id::text AS "keyId", p.id::text AS "projectId", p.account_id::text AS "accountId",
      extract(epoch FROM k.expires_at - clock_timestamp())::float8 * 1000 AS "validForMs",
      nullif(k.models, '{}') AS models, nullif(k.networks, '{}') AS networks, nullif(p.tags, '{}') AS tags,
      a.price_plan AS "pricePlan", a.next_price_plan AS "nextPricePlan", a.next_price_plan_from AS "nextPricePlanFrom"
    FROM billing.api_key k JOIN billing.project p ON p.id = k.project_id JOIN billing.account a ON a.id = p.account_id
    WHERE ${KEY_IS_ACTIVE} AND p.enabled`;

const FIND_KEYS = { name: 'find_keys', text: `${SELECT_KEYS} AND k.digest = ANY ($1::bytea[])` };

/** Null: the key has no such limit, its project no tags, its account no price plan. */
interface KeyRow extends Pick<ResolvedKey, 'keyId' | 'projectId' | 'accountId'> {
  digest: string;
  validForMs: number | null;
  models: string[] | null;
  networks: string[] | null;
  tags: string[] | null;
  pricePlan: string | null;
  nextPricePlan: string | null;
  /** Null: there is no next plan. */
  nextPricePlanFrom: Date | null;
}

/**
 * Finds keys by their digests. Lookups that arrive during a query share the next one, so that guessing keys costs the database one query at
 * a time.
 */
export class KeyLookups {
  private readonly lane: Lane<Uint8Array, ResolvedKey | undefined>;

  constructor(
    private readonly pepper: string,
    options: Omit<LaneOptions<Uint8Array, ResolvedKey | undefined>, 'work'>,
  ) {
    this.lane = new Lane({ ...options, work: findKeys, isPerishable: () => true });
  }

  /**
   * Returns the key with this digest and its owner. A frozen account is no error.
   * @throws {ServiceError} `invalid_api_key` when the key is unknown or not active, or its project disabled; `unavailable` when too many
   * lookups wait or the database is away.
   */
  async resolve(keyDigest: string): Promise<ResolvedKey> {
    const key = await this.lane.push(storedDigest(keyDigest, this.pepper));
    if (!key) throw new ServiceError('invalid_api_key', 'The API key is not valid.');
    return key;
  }

  open(): Promise<void> {
    return this.lane.open();
  }

  close(): Promise<void> {
    return this.lane.close();
  }
}

/** Returns a key by its id. @throws {ServiceError} as `KeyLookups.resolve`. */
export async function findKey(prisma: PrismaClient, keyId: string): Promise<ResolvedKey> {
  const rows = await prisma.$queryRawUnsafe<KeyRow[]>(`${SELECT_KEYS} AND k.id = $1::uuid`, keyId);
  if (!rows[0]) throw new ServiceError('invalid_api_key', 'The API key is not valid.');
  const { digest: _, ...row } = rows[0];
  return resolvedKey(row);
}

async function findKeys(connection: PgConnection, digests: readonly Uint8Array[]): Promise<(ResolvedKey | undefined)[]> {
  const wanted = digests.map((digest) => Buffer.from(digest).toString('hex'));
  const { rows } = await connection.query<KeyRow>({ ...FIND_KEYS, values: [byteaArray([...new Set(wanted)])] });
  const found = new Map(rows.map(({ digest, ...row }) => [digest, resolvedKey(row)]));
  return wanted.map((digest) => found.get(digest));
}

function resolvedKey(row: Omit<KeyRow, 'digest'>): ResolvedKey {
  const { validForMs, models, networks, tags, pricePlan, nextPricePlan, nextPricePlanFrom: from, ...key } = row;
  const lists = { ...(models && { models }), ...(networks && { networks }), ...(tags && { tags }) };
  const plans = {
    ...(pricePlan !== null && { pricePlan }),
    ...(from !== null && { nextPricePlan: { pricePlan: nextPricePlan, from: from.toISOString() } }),
  };
  return { ...key, ...(validForMs !== null && { validForMs }), ...lists, ...plans };
}

/** Returns a Postgres array of `bytea` from hexadecimal digits. */
function byteaArray(values: readonly string[]): string {
  return `{${values.map((value) => `"\\\\x${value}"`).join(',')}}`;
}
