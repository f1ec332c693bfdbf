import { isDeepStrictEqual } from 'node:util';
import { inflateRawSync } from 'node:zlib';
import { parseUsd } from '#money/pico-usd.js';
import { parsePrice } from '#money/price-plan.js';
import type { Quote, Story } from './chaos-client.js';
import { type Bill, readPayer } from './check-bill.js';
import { CLIENT_FORMATS } from './client-format.js';

/**
 * Gives some requests of a round, by their number, a limit of their client: a quote, which later prices do not change, or an amount that
 * their session may cost. Sessions of a round are its own: what one has lowered stays lowered.
 */
export async function limitByNumber(story: Story, round: number, number: number): Promise<void> {
  if (number % 6 === 1) Object.assign(story.ask, { session: `lowered-${round}`, sessionBudget: number % 4 === 1 ? '0.0009' : '0.0006' });
  if (number % 5 === 2) story.quote = await askQuote(story);
}

/** Asks for a quote of the request at its gateway. */
export async function askQuote({ ask, format, key, gatewayUrl }: Story): Promise<Quote> {
  const { path, body } = CLIENT_FORMATS[format];
  const response = await fetch(`${gatewayUrl}${path}/estimate?quote=true`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body(ask)),
  });
  const reply = (await response.json()) as { quote?: string; max_cost_pico_usd: string };
  if (reply.quote === undefined) throw new Error(`no quote: ${JSON.stringify(reply)}`);
  const [, , terms = ''] = reply.quote.split('.');
  const { price } = JSON.parse(inflateRawSync(Buffer.from(terms, 'base64url')).toString());
  return { text: reply.quote, price: parsePrice(price), amount: BigInt(reply.max_cost_pico_usd) };
}

/** Violations of what the client of a request was promised. */
export function findBrokenPromises({ quote, ask, outcome }: Story, bill: Bill | undefined): string[] {
  const found: string[] = [];
  const isLimited = quote !== undefined || ask.sessionBudget !== undefined;
  if (isLimited && outcome.kind === 'refused' && outcome.status === 400) found.push(`it was refused: ${outcome.message}`);
  if (!quote || !bill || bill.keyId === null) return found;
  if (bill.held > quote.amount) found.push(`it held ${bill.held}, and its quote is ${quote.amount}`);
  if (!isDeepStrictEqual(bill.price, quote.price)) found.push('it does not have the price of its quote');
  return found;
}

/** Sessions that cost more than the least that one of their admitted requests has named. */
export function findExceededSessions(stories: readonly Story[], bills: readonly Bill[]): string[] {
  const named = new Map<string | null, bigint>();
  const admitted = new Set(bills.filter(({ isItem }) => !isItem).map(readPayer));
  for (const { ask, key } of stories) {
    if (ask.session === undefined || ask.sessionBudget === undefined || !admitted.has(readPayer(key))) continue;
    const [before, limit] = [named.get(ask.session), parseUsd(ask.sessionBudget)];
    named.set(ask.session, before !== undefined && before < limit ? before : limit);
  }
  return [...Map.groupBy(bills, ({ session }) => session)].flatMap(([session, members]) => {
    const [limit, cost] = [named.get(session), members.reduce((sum, { paid }) => sum + paid, 0n)];
    return limit !== undefined && cost > limit ? [`the requests of ${session} cost ${cost}, and one let it cost ${limit}`] : [];
  });
}
