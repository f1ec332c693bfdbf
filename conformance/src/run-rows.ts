import type { Ability, Adapter, Product, Wallet } from './adapters/adapter.ts';
import { Bench, inParallel, type Money } from './bench.ts';
import { type Evidence, gatherEvidence } from './evidence.ts';
import type { Group, Outcome, Random, Row } from './rows/row.ts';
import type { ScriptedUpstream } from './upstream/scripted-upstream.ts';

const AT_ONCE = 6;
/** Long enough for the longest row on a busy machine. */
const ROW_MS = 600_000;

/** `broken`: the kit could not run the row. */
export type Result = 'passed' | 'failed' | 'not offered' | 'broken';

export interface RowResult {
  id: string;
  group: Group;
  title: string;
  result: Result;
  money?: Money | undefined;
  faults: string[];
  note?: string | undefined;
  /** Requests of a failed row. */
  evidence?: Evidence[];
  ms: number;
}

export interface RunOptions {
  adapter: Adapter;
  product: Product;
  upstream: ScriptedUpstream;
  rows: readonly Row[];
  seed: number;
  say(line: string): void;
  /** Called with each row that has run. */
  onRow?(row: Row, bench: Bench): void;
}

/** Runs rows, several at once; those that need the product for themselves at the end. */
export async function runRows({ adapter, product, upstream, rows, seed, say, onRow }: RunOptions): Promise<RowResult[]> {
  const results = new Map<Row, RowResult>();
  const bills: { row: Row; wallet: Wallet; spentPicoUsd: bigint }[] = [];
  const work = async (row: Row): Promise<void> => {
    const started = performance.now();
    const wallets: Wallet[] = [];
    const bench = new Bench(upstream, remember(product, wallets));
    const result = await runRow(row, { adapter, bench, random: makeRandom(seed, row.id) });
    onRow?.(row, bench);
    results.set(row, { ...result, ms: Math.round(performance.now() - started) });
    if (result.money && wallets.length === 1) bills.push({ row, wallet: wallets[0] as Wallet, spentPicoUsd: result.money.billedPicoUsd });
    say(
      `${String(results.size).padStart(3)}/${rows.length} ${result.result.padEnd(11)} ${row.id}${result.faults[0] ? `: ${result.faults[0]}` : ''}`,
    );
  };
  await inParallel(
    rows.filter(({ isExclusive }) => !isExclusive),
    AT_ONCE,
    work,
  );
  await inParallel(
    rows.filter(({ isExclusive }) => isExclusive),
    1,
    work,
  );
  for (const { row, wallet, spentPicoUsd } of bills) await compareAgain(results.get(row) as RowResult, wallet, spentPicoUsd);
  return rows.map((row) => results.get(row) as RowResult);
}

/** A bill must stay as it is: a settlement that comes late, or twice, shows at the end of the run. */
async function compareAgain(result: RowResult, wallet: Wallet, spentPicoUsd: bigint): Promise<void> {
  const now = await wallet.read();
  if (now.spentPicoUsd === spentPicoUsd || !result.money) return;
  result.money = { ...result.money, billedPicoUsd: now.spentPicoUsd, heldPicoUsd: now.heldPicoUsd };
  result.faults.push(`the bill changed afterwards by ${now.spentPicoUsd - spentPicoUsd} pico-dollars`);
  result.result = 'failed';
}

function remember(product: Product, wallets: Wallet[]): Product {
  const { openWallet } = product;
  if (!openWallet) return product;
  const remembered = async (picoUsd: bigint): Promise<Wallet> => {
    const wallet = await openWallet(picoUsd);
    wallets.push(wallet);
    return wallet;
  };
  return { ...product, openWallet: remembered };
}

async function runRow(
  row: Row,
  { adapter, bench, random }: { adapter: Adapter; bench: Bench; random: Random },
): Promise<Omit<RowResult, 'ms'>> {
  const { id, group, title, pair, needs } = row;
  const base = { id, group, title };
  const missing = needs.find((ability) => !offers(bench.product, ability, row));
  if (missing) return { ...base, result: 'not offered', faults: [], note: adapter.reasons?.[missing] ?? `the adapter has no ${missing}` };
  if (pair && !bench.product.address(pair.client, pair.model))
    return { ...base, result: 'not offered', faults: [], note: `no ${pair.client} client at a ${pair.model.format} upstream` };
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not finished after ${ROW_MS} ms`)), ROW_MS);
  });
  try {
    const outcome = await Promise.race([row.run(bench, random), late]);
    const judged = judge(outcome);
    return { ...base, ...judged, ...(judged.result === 'failed' && { evidence: gatherEvidence(bench) }) };
  } catch (error) {
    return { ...base, result: 'broken', faults: [error instanceof Error ? error.message : String(error)] };
  } finally {
    clearTimeout(timer);
  }
}

function judge({ money, faults, note }: Outcome): Pick<RowResult, 'result' | 'money' | 'faults' | 'note'> {
  const all = [...faults];
  if (money && money.billedPicoUsd !== money.expectedPicoUsd)
    all.unshift(`the bill is ${money.billedPicoUsd - money.expectedPicoUsd} pico-dollars off`);
  if (money?.heldPicoUsd) all.unshift(`${money.heldPicoUsd} pico-dollars stay on hold`);
  return { result: all.length > 0 ? 'failed' : 'passed', money, faults: all, note };
}

function offers(product: Product, ability: Ability, { pair }: Row): boolean {
  switch (ability) {
    case 'wallet':
      return product.openWallet !== undefined;
    case 'budget':
      return product.setBudget !== undefined;
    case 'price change':
      return product.changePrices !== undefined;
    case 'kill':
      return product.kill !== undefined;
    case 'repeated settlement':
      return product.repeatSettlement !== undefined;
    case 'second route':
    case 'hidden output':
      return pair !== undefined && product.address(pair.client, pair.model) !== undefined;
  }
}

/** Numbers of a row, the same for the same seed. */
function makeRandom(seed: number, id: string): Random {
  let state = [...id].reduce((hash, letter) => Math.imul(hash ^ letter.charCodeAt(0), 16_777_619), seed ^ 0x811c9dc5);
  return (below) => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9;
    return ((((state ^ (state >>> 13)) >>> 0) / 2 ** 32) * below) | 0;
  };
}
