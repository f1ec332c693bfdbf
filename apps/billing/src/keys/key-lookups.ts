import type { ResolvedKey } from '#contracts/billing/keys.js';
import { ServiceError } from '#contracts/service-error.js';
import type { PgConnection } from '#database/pg-connection.js';
import { Lane, type LaneOptions } from '../holds/lane.js';
import { storedDigest } from './key-digest.js';

const FIND_KEYS = {
  name: 'find_keys',
  text: `SELECT encode(k.digest, 'hex') AS digest, k.id::text AS "keyId", p.id::text AS "projectId", p.account_id::text AS "accountId"
    FROM billing.api_key k JOIN billing.project p ON p.id = k.project_id
    WHERE k.digest = ANY ($1::bytea[]) AND k.revoked_at IS NULL AND p.enabled`,
};

/**
 * Finds keys by their digests. Lookups that come while a query is under way share the next one: however many keys are guessed, the
 * database answers one query at a time for them.
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
   * The key with this digest and whom it belongs to. `ServiceError`: `invalid_api_key` when it is unknown or revoked, or its project is
   * disabled; `unavailable` when too many lookups wait or the database is away. A frozen account can still be read.
   */
  async resolve(keyDigest: string): Promise<ResolvedKey> {
    const key = await this.lane.push(storedDigest(keyDigest, this.pepper));
    if (!key) throw new ServiceError('invalid_api_key', 'The API key is not valid.');
    return key;
  }

  close(): Promise<void> {
    return this.lane.close();
  }
}

async function findKeys(connection: PgConnection, digests: readonly Uint8Array[]): Promise<(ResolvedKey | undefined)[]> {
  const wanted = digests.map((digest) => Buffer.from(digest).toString('hex'));
  const { rows } = await connection.query<ResolvedKey & { digest: string }>({ ...FIND_KEYS, values: [byteaArray([...new Set(wanted)])] });
  const found = new Map(rows.map(({ digest, ...key }) => [digest, key]));
  return wanted.map((digest) => found.get(digest));
}

/** A Postgres array of `bytea`, from hexadecimal digits. */
function byteaArray(values: readonly string[]): string {
  return `{${values.map((value) => `"\\\\x${value}"`).join(',')}}`;
}
