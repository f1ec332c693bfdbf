import type pg from 'pg';
import type { BillableUsage, Price } from '#money/price.js';
import { type PriceText, parsePrice } from '#money/price-plan.js';
import { costByToken, dearestPart } from '#testing/cost-by-token.js';
import type { Story } from './chaos-client.js';

/** Recorded bill of a request, in pico-USD. */
export interface Bill {
  holdId: string;
  /** Null for a tombstone, as `keyId`. */
  requestId: string | null;
  /** Null for a hold that was released before its reserve: it has no price either. */
  keyId: string | null;
  reason: string;
  paid: bigint;
  held: bigint;
  outputTokens: number;
  promptTokens: number;
  /** Cost billed by the reaper, before a late settlement. */
  reading: bigint | undefined;
  model: string;
  price: Price;
  /** Tier that the upstream named, if the price has tiers, and the bound of the last step that the prompt reached. */
  tier: string | undefined;
  step: number | undefined;
  /** Times at which the hold was opened and ended, in milliseconds. */
  reservedAt: number;
  settledAt: number;
  user: string | null;
  team: string | null;
  session: string | null;
  /** The child key that paid. */
  child: string | null;
  /** It is for an item of a service. */
  isItem: boolean;
}

/** Identifies who has one bill: a key or a child key that makes one request. */
export function readPayer({ keyId, child }: { keyId: string | null; child?: string | null | undefined }): string | null {
  return child ?? keyId;
}

/** Bills of an account. */
export async function readBills(database: pg.Client, accountId: string): Promise<Bill[]> {
  const { rows } = await database.query<Record<string, string | null>>(
    `SELECT s.hold_id, s.request_id, s.key_id, e.reason, s.held::text, e.output_tokens, e.prompt_tokens, e.tier, e.price_step,
        (s.cost + coalesce(l.due - l.writeoff, 0))::text AS paid, l.billed::text AS reading, s.model,
        coalesce(s.input_price, 0)::text AS input_price, coalesce(s.cached_input_price, 0)::text AS cached_input_price,
        coalesce(s.output_price, 0)::text AS output_price, s.request_price::text, s.cache_write_price::text, s.cache_write_1h_price::text,
        s.price_rules, extract(epoch FROM s.reserved_at)::float8 * 1000 AS reserved_at, extract(epoch FROM s.settled_at)::float8 * 1000 AS settled_at,
        s.attribution ->> 'user' AS user, s.attribution ->> 'tag:team' AS team, s.attribution ->> 'session' AS session,
        s.attribution ->> 'child' AS child, s.quantity
       FROM billing.settlement s LEFT JOIN billing.late_settlement l ON l.hold_id = s.hold_id
       CROSS JOIN LATERAL (
         SELECT reason, output_tokens, prompt_tokens, tier, price_step FROM billing.late_settlement WHERE hold_id = s.hold_id
         UNION ALL SELECT s.reason, s.output_tokens, s.prompt_tokens, s.tier, s.price_step LIMIT 1
       ) e WHERE s.account_id = $1`,
    [accountId],
  );
  return rows.map((row) => ({
    holdId: row.hold_id ?? '',
    requestId: row.request_id ?? null,
    keyId: row.key_id ?? null,
    reason: row.reason ?? '',
    paid: BigInt(row.paid ?? -1),
    held: BigInt(row.held ?? -1),
    outputTokens: Number(row.output_tokens),
    promptTokens: Number(row.prompt_tokens),
    reading: row.reading ? BigInt(row.reading) : undefined,
    model: row.model ?? '',
    price: readPrice(row),
    tier: row.tier ?? undefined,
    step: row.price_step === null ? undefined : Number(row.price_step),
    reservedAt: Number(row.reserved_at),
    settledAt: Number(row.settled_at),
    user: row.user ?? null,
    team: row.team ?? null,
    session: row.session ?? null,
    child: row.child ?? null,
    isItem: row.quantity !== null,
  }));
}

function readPrice(row: Record<string, unknown>): Price {
  const amounts = {
    ...{ inputPicoUsd: row.input_price, cachedInputPicoUsd: row.cached_input_price, outputPicoUsd: row.output_price },
    ...(row.request_price !== null && { requestPicoUsd: row.request_price }),
    ...(row.cache_write_price !== null && { cacheWritePicoUsd: row.cache_write_price }),
    ...(row.cache_write_1h_price !== null && { cacheWrite1hPicoUsd: row.cache_write_1h_price }),
  };
  return parsePrice({ ...amounts, ...(row.price_rules as object | null) } as PriceText);
}

/** Violations in the bill of a request. Each request has a key of its own. */
export function findViolations(story: Story, bills: readonly Bill[], mayBeReaped: boolean): string[] {
  const { outcome } = story;
  const [bill] = bills;
  const found: string[] = [];
  if (outcome.kind === 'completed' && !bill) found.push('it was completed without a bill');
  if (bills.length > 1) found.push(`it was billed ${bills.length} times`);
  const paid = bill?.paid ?? 0n;
  if (paid > (bill?.held ?? 0n)) found.push(`paid ${paid}, held ${bill?.held}`);
  if (bill && paid > mostOwed(story, bill.price)) found.push(`paid ${paid}, and its whole reply costs ${mostOwed(story, bill.price)}`);
  const isReaped = bill?.reason === 'lease-expired';

  const gotSomething = outcome.kind === 'completed' || story.bytesSeen > 0;
  if (isReaped && gotSomething && !mayBeReaped) found.push('it was reaped although its gateway or the proxies lived');
  const due = owed(story, bill?.price);
  if (due !== undefined && due !== paid && !(isReaped && mayBeReaped)) found.push(`paid ${paid}, owed ${due}`);
  if (outcome.kind === 'refused' && outcome.status === 500) found.push(`internal error: ${outcome.message}`);
  if (bill && !(isReaped && mayBeReaped)) found.push(...findWrongPrices(story, bill));
  const tokensSeen = Math.floor(story.bytesSeen / 4);
  if (tokensSeen > (bill?.outputTokens ?? 0) && !isReaped) found.push(`its client received ${tokensSeen} tokens`);
  return found.map((violation) => `${describe(story)}: ${violation}; ${bill ? `${bill.reason}, ${bill.outputTokens} tokens` : 'no bill'}`);
}

/** Exact cost if known: the usage of a complete reply, or 0 for an error without content. */
function owed(story: Story, price: Price | undefined): bigint | undefined {
  const { outcome, bytesSeen, ask } = story;
  if (outcome.kind === 'completed') return price && costByToken({ ...outcome.usage, ...readHidden(ask.text) }, price);
  if (outcome.kind === 'refused') return 0n;
  // Reasoning counts as received, even if the format does not show it.
  return outcome.kind === 'failed' && bytesSeen === 0 && ask.model !== 'sim-reason' ? 0n : undefined;
}

/** Parts of a usage that the upstream was told to report and replies do not show: tokens written to its cache, and its tier. */
function readHidden(text: string): Pick<BillableUsage, 'cacheWriteTokens' | 'cacheWrite1hTokens' | 'tier'> {
  const [, cacheWriteTokens = 0, cacheWrite1hTokens = 0] = / written=(\d+) written-1h=(\d+)/.exec(text) ?? [];
  const [, tier] = / tier=(\w+)/.exec(text) ?? [];
  return {
    ...{ cacheWriteTokens: Number(cacheWriteTokens), cacheWrite1hTokens: Number(cacheWrite1hTokens) },
    ...(tier !== undefined && { tier }),
  };
}

/** Violations in what the bill says about its price. */
function findWrongPrices({ outcome, ask }: Story, { price, tier, step, promptTokens, outputTokens }: Bill): string[] {
  const list = price.tiers?.find((prices) => prices.tier === tier) ?? price;
  const reached = promptTokens + outputTokens === 0 ? undefined : list.steps?.findLast(({ above }) => promptTokens > above)?.above;
  const served = outcome.kind === 'completed' && price.tiers ? readHidden(ask.text).tier : tier;
  return [
    ...(step === reached ? [] : [`its bill has the step ${step}, and ${promptTokens} tokens of prompt reach ${reached}`]),
    ...(tier === served ? [] : [`its bill has the tier ${tier}, and the upstream named ${served}`]),
  ];
}

/** Upper bound of the cost: the whole prompt and reply, by the larger of report and estimate. */
function mostOwed(story: Story, price: Price): bigint {
  const promptTokens = Math.ceil((Buffer.byteLength(story.ask.text) + (story.ask.withTool ? 300 : 0)) / 4) + 100;
  return dearestPart({ promptTokens, cachedTokens: 0, ...readHidden(story.ask.text), outputTokens: story.outputTokens + 10 }, price);
}

function describe({ name, ask, format, outcome, bytesSeen, beganAt, endedAt, requestId, leaveMs, gatewayUrl }: Story): string {
  const kind = outcome.kind === 'refused' ? `${outcome.status} ${outcome.code}` : outcome.kind;
  const times = `${Math.round(beganAt)}–${Math.round(endedAt)} ms`;
  const directives = /\[\[.*?\]\]|call weigh/.exec(ask.text)?.[0];
  return (
    `${name} (${format}, ${ask.stream ? 'streamed' : 'plain'}, ${directives}, ${requestId ?? 'no id'} at ${gatewayUrl}, ${times}` +
    `${leaveMs === undefined ? '' : `, leaves after ${leaveMs} ms`}): ${kind} after ${bytesSeen} bytes`
  );
}
