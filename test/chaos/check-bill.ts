import type pg from 'pg';
import { type BillableUsage, computeCost, type Price } from '#money/price.js';
import type { Story } from './chaos-client.js';

/** Recorded bill of a request, in pico-USD. */
export interface Bill {
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
  /** Time at which the hold was opened, in milliseconds. */
  reservedAt: number;
  user: string | null;
  team: string | null;
}

/** Bills of an account. */
export async function readBills(database: pg.Client, accountId: string): Promise<Bill[]> {
  const { rows } = await database.query<Record<string, string | null>>(
    `SELECT s.key_id, coalesce(l.reason, s.reason) AS reason, s.held::text, coalesce(l.output_tokens, s.output_tokens) AS output_tokens,
        coalesce(l.prompt_tokens, s.prompt_tokens) AS prompt_tokens, (s.cost + coalesce(l.due - l.writeoff, 0))::text AS paid,
        l.billed::text AS reading, s.model, s.input_price::text, s.cached_input_price::text, s.output_price::text,
        s.cache_write_price::text, s.cache_write_1h_price::text, extract(epoch FROM s.reserved_at)::float8 * 1000 AS reserved_at, s.attribution ->> 'user' AS user, s.attribution ->> 'tag:team' AS team
       FROM billing.settlement s LEFT JOIN billing.late_settlement l ON l.hold_id = s.hold_id WHERE s.account_id = $1`,
    [accountId],
  );
  return rows.map((row) => ({
    keyId: row.key_id ?? null,
    reason: row.reason ?? '',
    paid: BigInt(row.paid ?? -1),
    held: BigInt(row.held ?? -1),
    outputTokens: Number(row.output_tokens),
    promptTokens: Number(row.prompt_tokens),
    reading: row.reading ? BigInt(row.reading) : undefined,
    model: row.model ?? '',
    price: {
      inputPicoUsd: BigInt(row.input_price ?? 0),
      cachedInputPicoUsd: BigInt(row.cached_input_price ?? 0),
      ...(row.cache_write_price && { cacheWritePicoUsd: BigInt(row.cache_write_price) }),
      ...(row.cache_write_1h_price && { cacheWrite1hPicoUsd: BigInt(row.cache_write_1h_price) }),
      outputPicoUsd: BigInt(row.output_price ?? 0),
    },
    reservedAt: Number(row.reserved_at),
    user: row.user ?? null,
    team: row.team ?? null,
  }));
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
  const tokensSeen = Math.floor(story.bytesSeen / 4);
  if (tokensSeen > (bill?.outputTokens ?? 0) && !isReaped) found.push(`its client received ${tokensSeen} tokens`);
  return found.map((violation) => `${describe(story)}: ${violation}; ${bill ? `${bill.reason}, ${bill.outputTokens} tokens` : 'no bill'}`);
}

/** Exact cost if known: the usage of a complete reply, or 0 for an error without content. */
function owed(story: Story, price: Price | undefined): bigint | undefined {
  const { outcome, bytesSeen, ask } = story;
  if (outcome.kind === 'completed') return price && computeCost({ ...outcome.usage, ...cacheWrites(ask.text) }, price);
  if (outcome.kind === 'refused') return 0n;
  // Reasoning counts as received, even if the format does not show it.
  return outcome.kind === 'failed' && bytesSeen === 0 && ask.model !== 'sim-reason' ? 0n : undefined;
}

/** Tokens that the upstream was told to report as written to its cache. Replies do not show them. */
function cacheWrites(text: string): Pick<BillableUsage, 'cacheWriteTokens' | 'cacheWrite1hTokens'> {
  const [, cacheWriteTokens = 0, cacheWrite1hTokens = 0] = / written=(\d+) written-1h=(\d+)/.exec(text) ?? [];
  return { cacheWriteTokens: Number(cacheWriteTokens), cacheWrite1hTokens: Number(cacheWrite1hTokens) };
}

/** Upper bound of the cost: the whole prompt and reply, by the larger of report and estimate. */
function mostOwed(story: Story, price: Price): bigint {
  const promptTokens = Math.ceil((Buffer.byteLength(story.ask.text) + (story.ask.withTool ? 300 : 0)) / 4) + 100;
  return computeCost({ promptTokens, cachedTokens: 0, outputTokens: story.outputTokens + 10 }, price);
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
