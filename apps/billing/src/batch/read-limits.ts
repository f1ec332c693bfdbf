import type { PgConnection } from '#database/pg-connection.js';
import { type AccountRateLimits, limitedTargets, type RateLimitState } from '../limits/rate-limit.js';
import type { Payer } from '../payer/payer.js';
import { type Columns, statement } from '../sql/statement.js';
import type { Hold } from './hold.js';

const LIMITED: Columns<{ targetId: string; accountId: string }> = {
  target_id: ['uuid', (row) => row.targetId],
  payer_id: ['uuid', (row) => row.accountId],
};

const READ_LIMITS = statement<{ targetId: string; accountId: string }[], RateLimitState>(
  'read_limits',
  (inputs) => `SELECT l.id AS "targetId", account_id AS "accountId", key_id AS "keyId", requests_per_minute_max AS "requestsPerMinuteMax",
      concurrency_max AS "concurrencyMax", tokens_per_minute_max AS "tokensPerMinuteMax", open_holds AS "openHolds",
      request_window AS "requestWindow", token_window AS "tokenWindow", model_limits AS "modelLimits", model_windows AS "modelWindows"
    FROM ${inputs.rows(LIMITED, (targets) => targets).as('b')},
      LATERAL (SELECT * FROM billing.rate_limit WHERE id = b.target_id AND account_id = b.payer_id LIMIT 1) AS l`,
);

const HELD: Columns<Hold> = { hold_id: ['uuid', (row) => row.holdId], payer_id: ['uuid', (row) => row.accountId] };

const READ_TOKENS = statement<Hold[], { id: string; tokens: number; model: string }>(
  'read_tokens',
  (inputs) => `SELECT h.id, h.tokens::float8, h.model FROM ${inputs.rows(HELD, (holds) => holds).as('b')},
      LATERAL (SELECT id, tokens, model FROM billing.hold WHERE id = b.hold_id AND account_id = b.payer_id LIMIT 1) AS h
    WHERE h.tokens IS NOT NULL`,
);

/**
 * Reads the limits that requests count towards, by account, in the transaction that has locked the accounts. Sets the tokens and the model of
 * the open holds that count towards limits of tokens.
 */
export async function readLimits(
  connection: PgConnection,
  accountIds: readonly string[],
  requests: readonly Payer[],
  openHolds: Iterable<Hold>,
): Promise<Map<string, AccountRateLimits>> {
  const limits = new Map(accountIds.map((accountId) => [accountId, new Map<string, RateLimitState | null>()]));
  const holds = [...openHolds].filter(({ accountId }) => limits.has(accountId));
  for (const payer of [...requests, ...holds])
    for (const targetId of limitedTargets(payer)) limits.get(payer.accountId)?.set(targetId, null);
  const targets = [...limits].flatMap(([accountId, ofAccount]) => [...ofAccount.keys()].map((targetId) => ({ targetId, accountId })));
  const [{ rows }, tokens] = await Promise.all([READ_LIMITS.execute(connection, targets), READ_TOKENS.execute(connection, holds)]);
  for (const { modelLimits, ...limit } of rows)
    limits.get(limit.accountId)?.set(limit.targetId, { ...limit, ...(modelLimits && { modelLimits }) });
  const tokensById = new Map(tokens.rows.map(({ id, ...counted }) => [id, counted]));
  for (const hold of holds) Object.assign(hold, tokensById.get(hold.holdId));
  return limits;
}
