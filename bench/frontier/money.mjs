/** Compares what the replies say that requests used with what the ledger took for them, to the pico-dollar. */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { parse } from 'yaml';
import { connectPg } from '#database/pg-connection.js';

const CATALOG_FILE = new URL('../catalog.yaml', import.meta.url);
/** Time that open holds have to be settled. */
const SETTLE_MS = 15_000;

/**
 * Usages of replies and how many had each: the key is `prompt/cached/output` tokens, as the load generator counts them.
 *
 * @typedef {Record<string, number>} Usages
 * @typedef {{ input: bigint, cached: bigint, output: bigint }} Price in pico-dollars a token
 */

/** Price of the model in the catalog of the benchmarks. @param {string} model @returns {Price} */
export function readPrice(model) {
  /** @type {{ models: { id: string, price: Record<string, string> }[] }} */
  const { models } = parse(readFileSync(CATALOG_FILE, 'utf8'));
  const price = models.find(({ id }) => id === model)?.price;
  if (price === undefined) throw new Error(`the catalog has no price of ${model}`);
  return {
    input: picoUsdPerToken(price.inputUsdPerMTok),
    cached: picoUsdPerToken(price.cachedInputUsdPerMTok),
    output: picoUsdPerToken(price.outputUsdPerMTok),
  };
}

/** Pico-dollars a token, from dollars a million tokens. @param {string} [usd] */
export function picoUsdPerToken(usd = '0') {
  const pico = picoUsd(usd);
  if (pico % 1_000_000n !== 0n) throw new Error(`${usd} is no whole number of pico-dollars a token`);
  return pico / 1_000_000n;
}

/** @param {string} usd a decimal number */
export function picoUsd(usd) {
  const [whole = '0', places = ''] = usd.split('.');
  return BigInt(`${whole}${places.padEnd(12, '0')}`);
}

/** Cost of one reply. @param {string} usage @param {Price} price */
export function costInPicoUsd(usage, price) {
  const [prompt = 0n, cached = 0n, output = 0n] = usage.split('/').map(BigInt);
  return (prompt - cached) * price.input + cached * price.cached + output * price.output;
}

/**
 * Pico-dollars by which requests of each cost were charged too often or not at all. A request that costs too much and one that costs too
 * little do not cancel out.
 *
 * @param {Map<bigint, bigint>} owed cost → requests @param {Map<bigint, bigint>} charged
 */
export function differenceInPicoUsd(owed, charged) {
  let sum = 0n;
  for (const cost of new Set([...owed.keys(), ...charged.keys()])) {
    const difference = (owed.get(cost) ?? 0n) - (charged.get(cost) ?? 0n);
    sum += (difference < 0n ? -difference : difference) * cost;
  }
  return sum;
}

/** Requests by what they cost. @param {Usages} usages @param {Price} price @returns {Map<bigint, bigint>} */
export function groupByCost(usages, price) {
  const owed = new Map();
  for (const [usage, count] of Object.entries(usages)) {
    const cost = costInPicoUsd(usage, price);
    owed.set(cost, (owed.get(cost) ?? 0n) + BigInt(count));
  }
  return owed;
}

/**
 * The account of a run after its last reply. `errorPicoUsd` adds up, without signs: the difference of the journal, of the balance, of each
 * budget, and what is still held. Budgets whose month began after `since` have not seen all requests, and are left out.
 *
 * @param {{ ledger: { databaseUrl: string, accountId: string }, usages: Usages, price: Price, toppedUp: bigint, since: Date }} options
 */
export async function auditMoney({ ledger, usages, price, toppedUp, since }) {
  const owed = groupByCost(usages, price);
  const owedPicoUsd = [...owed].reduce((sum, [cost, count]) => sum + cost * count, 0n);
  const replies = Object.values(usages).reduce((sum, count) => sum + count, 0);
  const sql = await connectPg({ url: ledger.databaseUrl, applicationName: 'bench', statementTimeoutMs: 60_000 });
  try {
    const openHolds = await waitForHolds(sql);
    const { rows: costs } = await sql.query('SELECT cost::text, count(*)::text FROM billing.settlement GROUP BY cost');
    const charged = new Map(costs.map(({ cost, count }) => [BigInt(cost), BigInt(count)]));
    const chargedPicoUsd = [...charged].reduce((sum, [cost, count]) => sum + cost * count, 0n);
    const { rows: accounts } = await sql.query('SELECT topup::text, topup_held::text AS held FROM billing.account WHERE id = $1', [
      ledger.accountId,
    ]);
    const [{ topup, held }] = /** @type {[{ topup: string, held: string }]} */ (accounts);
    const { rows: budgets } = await sql.query(
      `SELECT coalesce(sum(v.spent), b.spent)::text AS spent, coalesce(sum(v.held), b.held)::text AS held
       FROM billing.budget b LEFT JOIN billing.budget_value v ON v.budget_id = b.id WHERE b.window_start <= $1 GROUP BY b.id`,
      [since],
    );
    const parts = {
      journal: differenceInPicoUsd(owed, charged),
      balance: absolute(toppedUp - BigInt(topup) - owedPicoUsd),
      held: absolute(BigInt(held)),
      budgets: budgets.reduce((sum, budget) => sum + absolute(BigInt(budget.spent) - owedPicoUsd) + absolute(BigInt(budget.held)), 0n),
    };
    return {
      replies,
      settlements: Number([...charged.values()].reduce((sum, count) => sum + count, 0n)),
      budgets: budgets.length,
      openHolds,
      owedPicoUsd: String(owedPicoUsd),
      chargedPicoUsd: String(chargedPicoUsd),
      errorPicoUsd: String(Object.values(parts).reduce((sum, part) => sum + part, 0n)),
      parts: Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, String(part)])),
    };
  } finally {
    await sql.end();
  }
}

/** Waits until no hold is open, for a while. Returns how many are. @param {Awaited<ReturnType<typeof connectPg>>} sql */
async function waitForHolds(sql) {
  for (const end = performance.now() + SETTLE_MS; ; await delay(200)) {
    const { rows } = await sql.query('SELECT count(*)::int AS open FROM billing.hold');
    const open = /** @type {{ open: number }} */ (rows[0]).open;
    if (open === 0 || performance.now() > end) return open;
  }
}

/** @param {bigint} value */
function absolute(value) {
  return value < 0n ? -value : value;
}
