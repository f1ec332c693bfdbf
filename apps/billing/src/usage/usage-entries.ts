/** Columns that rollups are keyed by, after their hour or day. */
export const DIMENSIONS = ['account_id', 'project_id', 'key_id', 'model', 'upstream', 'ending'] as const;

/** Columns that rollups add up. */
export const MEASURES = [
  'requests',
  'estimated_requests',
  'prompt_tokens',
  'cached_tokens',
  'cache_write_tokens',
  'cache_write_1h_tokens',
  'output_tokens',
  'reasoning_tokens',
  'quantity',
  'cost',
  'forfeit',
] as const;

/** Columns of `USAGE_ENTRIES`, which also has the attribution, and, with `at` as their hour or day, of the rollups. */
export const ENTRY_COLUMNS = ['at', ...DIMENSIONS, ...MEASURES];

/** Moment before which rows of detached months are missing in the journals; the rollups have them. Null: none are missing. */
export const DETACHED_TO = `(SELECT max(counted_to)::timestamp AT TIME ZONE 'UTC' FROM billing.detached_month)`;

/** Late settlements `l`, each with the settlement `s` of the reaper that it replaces. */
export const LATE_SETTLEMENTS = `billing.late_settlement l JOIN billing.settlement s ON s.hold_id = l.hold_id`;

const ESTIMATED = `CASE WHEN s.prompt_source = 'estimated' OR s.output_source <> 'reported' THEN 1 ELSE 0 END`;

/**
 * Usage of the journals as rows of `transaction_id`, `ENTRY_COLUMNS` and `attribution`; the only definition of what counts where. Tombstones used nothing.
 *
 * A late settlement is two rows at its own time: one takes back what the reaper's settlement counted, the other counts the request under the
 * ending and the upstream that are known now. So past sums never change, and a request counts once under each grouping.
 */
export const USAGE_ENTRIES = `(
    SELECT s.transaction_id, s.settled_at AS at, s.account_id, s.project_id, s.key_id, s.model COLLATE "C" AS model,
      coalesce(s.upstream, '') COLLATE "C" AS upstream, s.reason COLLATE "C" AS ending, 1 AS requests,
      ${ESTIMATED} AS estimated_requests, s.prompt_tokens, s.cached_tokens, coalesce(s.cache_write_tokens, 0) AS cache_write_tokens,
      coalesce(s.cache_write_1h_tokens, 0) AS cache_write_1h_tokens, s.output_tokens, s.reasoning_tokens,
      coalesce(s.quantity, 0) AS quantity, s.cost, s.forfeit, s.attribution FROM billing.settlement s WHERE s.project_id IS NOT NULL
    UNION ALL
    SELECT l.transaction_id, l.settled_at, l.account_id, s.project_id, s.key_id, s.model COLLATE "C",
      coalesce(s.upstream, '') COLLATE "C", s.reason COLLATE "C", -1,
      -${ESTIMATED}, -s.prompt_tokens, -s.cached_tokens, -coalesce(s.cache_write_tokens, 0), -coalesce(s.cache_write_1h_tokens, 0), -s.output_tokens, -s.reasoning_tokens,
      -coalesce(s.quantity, 0), -s.cost, -s.forfeit,
      s.attribution
    FROM ${LATE_SETTLEMENTS} WHERE s.project_id IS NOT NULL
    UNION ALL
    SELECT l.transaction_id, l.settled_at, l.account_id, s.project_id, s.key_id, s.model COLLATE "C",
      coalesce(l.upstream, '') COLLATE "C", l.reason COLLATE "C", 1,
      ${ESTIMATED}, l.prompt_tokens, l.cached_tokens, coalesce(l.cache_write_tokens, 0), coalesce(l.cache_write_1h_tokens, 0),
      l.output_tokens, l.reasoning_tokens, coalesce(l.quantity, 0), s.cost + l.due - l.writeoff,
      s.forfeit + coalesce(l.forfeit, 0), s.attribution
    FROM ${LATE_SETTLEMENTS} WHERE s.project_id IS NOT NULL
  )`;
