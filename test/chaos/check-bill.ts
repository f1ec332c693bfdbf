import type pg from 'pg';
import { costOf } from '#money/price.js';
import { PRICES, type Story } from './chaos-client.js';

/** Recorded bill of a request, in pico-USD. */
interface Bill {
  reason: string;
  paid: bigint;
  held: bigint;
  outputTokens: number;
  /** Cost billed by the reaper, before a late settlement. */
  reading: bigint | undefined;
}

/** Bills of an account by API key. */
export async function readBills(database: pg.Client, accountId: string): Promise<Map<string | null, Bill[]>> {
  const { rows } = await database.query<Record<string, string | null>>(
    `SELECT s.key_id, coalesce(l.reason, s.reason) AS reason, s.held::text, coalesce(l.output_tokens, s.output_tokens) AS output_tokens,
        (s.cost + coalesce(l.due - l.writeoff, 0))::text AS paid, l.billed::text AS reading
       FROM billing.settlement s LEFT JOIN billing.late_settlement l ON l.hold_id = s.hold_id WHERE s.account_id = $1`,
    [accountId],
  );
  const bills = new Map<string | null, Bill[]>();
  for (const row of rows) {
    const key = row.key_id ?? null;
    const bill = {
      reason: row.reason ?? '',
      paid: BigInt(row.paid ?? -1),
      held: BigInt(row.held ?? -1),
      outputTokens: Number(row.output_tokens),
      reading: row.reading ? BigInt(row.reading) : undefined,
    };
    bills.set(key, [...(bills.get(key) ?? []), bill]);
  }
  return bills;
}

/** Violations in the bill of a request. Each request has a key of its own. */
export function violationsOf(story: Story, bills: readonly Bill[], mayBeReaped: boolean): string[] {
  const { outcome } = story;
  const [bill] = bills;
  const found: string[] = [];
  if (bills.length > 1) found.push(`it was billed ${bills.length} times`);
  const paid = bill?.paid ?? 0n;
  if (paid > (bill?.held ?? 0n)) found.push(`paid ${paid}, held ${bill?.held}`);
  if (paid > mostOwed(story)) found.push(`paid ${paid}, and its whole reply costs ${mostOwed(story)}`);
  const isReaped = bill?.reason === 'lease-expired';

  const gotSomething = outcome.kind === 'completed' || story.bytesSeen > 0;
  if (isReaped && gotSomething && !mayBeReaped) found.push('it was reaped although its gateway or the proxies lived');
  const due = owed(story);
  if (due !== undefined && due !== paid && !(isReaped && mayBeReaped)) found.push(`paid ${paid}, owed ${due}`);
  if (outcome.kind === 'refused' && outcome.status === 500) found.push(`internal error: ${outcome.message}`);
  const tokensSeen = Math.floor(story.bytesSeen / 4);
  if (tokensSeen > (bill?.outputTokens ?? 0) && !isReaped) found.push(`its client received ${tokensSeen} tokens`);
  return found.map((violation) => `${describe(story)}: ${violation}; ${bill ? `${bill.reason}, ${bill.outputTokens} tokens` : 'no bill'}`);
}

/** Exact cost if known: the usage of a complete reply, or 0 for an error without content. */
function owed(story: Story): bigint | undefined {
  const { outcome, bytesSeen, ask } = story;
  if (outcome.kind === 'completed') return costOf(outcome.usage, priceOf(story));
  if (outcome.kind === 'refused') return 0n;
  // Reasoning counts as received, even if the format does not show it.
  return outcome.kind === 'failed' && bytesSeen === 0 && ask.model !== 'sim-reason' ? 0n : undefined;
}

/** Upper bound of the cost: the whole prompt and reply, by the larger of report and estimate. */
function mostOwed(story: Story): bigint {
  const promptTokens = Math.ceil((Buffer.byteLength(story.ask.text) + (story.ask.withTool ? 300 : 0)) / 4) + 100;
  return costOf({ promptTokens, cachedTokens: 0, outputTokens: story.outputTokens + 10 }, priceOf(story));
}

function priceOf({ ask }: Story): (typeof PRICES)[string] {
  const price = PRICES[ask.model];
  if (!price) throw new Error(`${ask.model} has no price`);
  return price;
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
