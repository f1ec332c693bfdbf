import type { RatedAccount, UsageRerateReply, UsageRerateRequest } from '#contracts/billing/rerate.js';
import type { PgConnection } from '#database/pg-connection.js';
import { apartCost, IMAGES_UNKNOWN, RATE_COLUMNS, readMonth, requireJournal, selectApart, selectUsed, USED_COST } from './month-usage.js';
import { listRates } from './rate-lists.js';

const ACCOUNTS_MAX = 2_000;

const KEYS = ['account_id', 'model'] as const;

/**
 * Returns what the usage of a month costs each account at the prices of two catalogs, exactly: the sums of the rollups at flat prices, and from
 * the journal what those requests cost more than that to which a step, a tier or an image price applies, or that have no tokens.
 */
export function rerateMonth(connection: PgConnection, { month, prices }: UsageRerateRequest): Promise<UsageRerateReply> {
  const read = async (): Promise<UsageRerateReply> => {
    const plans = await connection.query<{ plan: string }>(`SELECT DISTINCT coalesce(price_plan, '') AS plan FROM billing.account`);
    const named = plans.rows.map(({ plan }) => plan);
    const rates = listRates(prices, named);
    if (rates.ruledModels.length > 0) await requireJournal(connection, month);
    const used = await selectUsed(connection, month, KEYS, 'model = ANY ($2)');
    const models = prices.models.map(({ id }) => id);
    const { rows } = await connection.query<SummedRow>(
      summing(used, selectApart(rates, month, KEYS, 's.model = ANY ($3)'), apartCost(rates)),
      [JSON.stringify(rates.rates), models, rates.ruledModels],
    );
    const all = rows[0];
    return {
      accounts: rows.map(({ accountId, name, requests, chargedPicoUsd, beforePicoUsd, afterPicoUsd }) => ({
        ...{ accountId, name, requests, chargedPicoUsd, beforePicoUsd, afterPicoUsd },
      })),
      accountCount: all?.accountCount ?? 0,
      total: {
        requests: all?.allRequests ?? 0,
        chargedPicoUsd: all?.allCharged ?? '0',
        beforePicoUsd: all?.allBefore ?? '0',
        afterPicoUsd: all?.allAfter ?? '0',
      },
      imagesUnknown: all?.imagesUnknown ?? 0,
    };
  };
  return readMonth(connection, read);
}

interface SummedRow extends RatedAccount {
  accountCount: number;
  allRequests: number;
  allCharged: string;
  allBefore: string;
  allAfter: string;
  imagesUnknown: number;
}

/**
 * Parameters: the rates as JSON, all models, and those that need the journal. What is read is materialized: else Postgres, which takes rates for
 * few, may read the month once for each.
 */
function summing(used: string, apart: string, costApart: string): string {
  return `WITH rate AS MATERIALIZED (SELECT * FROM jsonb_to_recordset($1::jsonb) AS r (model text, price_plan text, side text, ${RATE_COLUMNS})),
    used AS MATERIALIZED (${used}),
    apart AS MATERIALIZED (${apart}),
    rated AS (
      SELECT e.account_id, side, requests, e.cost AS charged, ${USED_COST} AS rated, 0 AS images_unknown FROM used e ${WITH_RATE}
      UNION ALL
      SELECT e.account_id, side, 0, 0, ${costApart}, ${IMAGES_UNKNOWN} FROM apart e ${WITH_RATE}),
    accounts AS (SELECT account_id, sum(requests) FILTER (WHERE side = 'after') AS requests, sum(charged) FILTER (WHERE side = 'after') AS charged,
        sum(rated) FILTER (WHERE side = 'before') AS before, sum(rated) FILTER (WHERE side = 'after') AS after,
        greatest(sum(images_unknown) FILTER (WHERE side = 'before'), sum(images_unknown) FILTER (WHERE side = 'after')) AS images_unknown
      FROM rated GROUP BY account_id)
    SELECT account_id AS "accountId", name, requests::float8, charged::text AS "chargedPicoUsd", before::text AS "beforePicoUsd",
      after::text AS "afterPicoUsd", (count(*) OVER ())::int AS "accountCount", (sum(requests) OVER ())::float8 AS "allRequests",
      (sum(charged) OVER ())::text AS "allCharged", (sum(before) OVER ())::text AS "allBefore", (sum(after) OVER ())::text AS "allAfter",
      (sum(images_unknown) OVER ())::float8 AS "imagesUnknown"
    FROM accounts JOIN billing.account x ON x.id = account_id
    ORDER BY abs(after - before) DESC, charged DESC, account_id LIMIT ${ACCOUNTS_MAX}`;
}

/** Adds the rates `p` of the account and the model of a row `e`: one of each catalog. */
const WITH_RATE = `JOIN billing.account x ON x.id = e.account_id JOIN rate p ON p.model = e.model AND p.price_plan = coalesce(x.price_plan, '')`;
