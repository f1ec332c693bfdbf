import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LAYOUTS } from '#testing/stack.js';

/** The whole conformance kit, as its users run it; and copies of Tollgate with a seeded fault, each of which a row must find. */
const ROOT = process.cwd();
const LOCAL = join(ROOT, '.local');
const COPIED = ['apps', 'libs', 'prisma', 'scripts', 'config', 'dist', 'package.json', 'package-lock.json', '.swcrc', 'tsconfig.json'];
const COPIED_TOO = ['prisma.config.ts', 'nest-cli.json', 'tsconfig.production.json', 'test/packages/package.json'];
/** A layout takes at most a quarter of an hour on two processors. */
const LAYOUT_SECONDS_MAX = 900;

interface Run {
  rows: { id: string; result: string; money?: { expectedPicoUsd: string; billedPicoUsd: string; heldPicoUsd: string }; faults: string[] }[];
  seconds: number;
}

/** A fault in the code, and the rows that find it among those that are run. */
interface SeededFault {
  name: string;
  file: string;
  from: string;
  to: string;
  only: string[];
  /** Start of the first fault of the rows that must fail. */
  found: Record<string, RegExp>;
}

const FOLD = 'apps/billing/src/batch/fold-batch.ts';
const FAULTS: SeededFault[] = [
  {
    name: 'settles twice when a settlement is repeated',
    file: FOLD,
    from: "return late ?? 'already';",
    to: "if (!late && account && !byReaper) {\n      account.funds.topup -= draft.settlements.get(holdId) ?? 0n;\n      draft.changed.add(account);\n    }\n    return late ?? 'already';",
    only: ['repeats/', 'refusals/chat-no-money'],
    found: { 'repeats/settlement': /^the bill is \d+ pico-dollars off$/ },
  },
  {
    name: 'drops the release of a request that cost nothing',
    file: FOLD,
    from: 'returnHold(account.funds, parts);\n  account.openHolds',
    to: 'if (settle.usage && settle.usage.outputTokens > 0) returnHold(account.funds, parts);\n  account.openHolds',
    only: ['retries/chat-503', 'repeats/same-request-id'],
    found: { 'retries/chat-503': /^\d+ pico-dollars stay on hold$/ },
  },
  {
    name: 'overspends a budget by one request',
    file: 'apps/billing/src/batch/count-budgets.ts',
    from: 'amountIn(use.budget, amounts) > computeLeft(use)',
    to: 'amountIn(use.budget, amounts) > computeLeft(use) + amountIn(use.budget, amounts)',
    only: ['overspend/'],
    found: { 'overspend/budget': /^overspent: / },
  },
  {
    name: 'overspends by one pico-dollar a request',
    file: FOLD,
    from: 'draft.settlements.set(hold.holdId, cost);',
    to: 'draft.settlements.set(hold.holdId, cost);\n  if (cost > 0n) account.funds.topup -= 1n;',
    only: ['usage/chat-cached', 'refusals/chat-upstream-400'],
    found: {
      'usage/chat-cached': /^the bill is 1 pico-dollars off$/,
      'usage/chat-cached-twice': /^the bill is 1 pico-dollars off$/,
    },
  },
];

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

test.each(LAYOUTS)('%s: every row is exact', async (layout) => {
  const { code, run } = await runKit([`--adapter=tollgate-${layout}`]);
  const wrong = run.rows.filter(({ result }) => result !== 'passed');
  const money = run.rows.flatMap((row) => (row.money ? [row.money] : []));
  const off = money.filter(({ expectedPicoUsd, billedPicoUsd, heldPicoUsd }) => expectedPicoUsd !== billedPicoUsd || heldPicoUsd !== '0');
  expect({ wrong, off, code }).toEqual({ wrong: [], off: [], code: 0 });
  expect(money.length).toBeGreaterThan(300);
  expect(run.seconds).toBeLessThan(LAYOUT_SECONDS_MAX);
});

test.each(FAULTS)('is found: $name', async ({ file, from, to, only, found }) => {
  const copy = copyCheckout();
  const source = readFileSync(join(ROOT, file), 'utf8');
  expect(source.split(from)).toHaveLength(2);
  writeFileSync(
    join(copy, file),
    source.replace(from, () => to),
  );
  const { code, run } = await runKit(['--adapter=tollgate-all', `--set=root=${copy}`, ...only.map((name) => `--only=${name}`)]);
  const failed = run.rows.filter(({ result }) => result !== 'passed').map(({ id, faults }) => [id, faults[0]]);
  const patterns = Object.entries(found).map(([id, pattern]) => [id, expect.stringMatching(pattern)]);
  expect({ failed, code }).toEqual({ failed: patterns, code: 1 });
});

async function runKit(args: string[]): Promise<{ code: number | null; run: Run }> {
  mkdirSync(LOCAL, { recursive: true });
  const out = mkdtempSync(join(LOCAL, 'test-conformance-'));
  folders.push(out);
  const child = spawn(process.execPath, ['conformance/run.ts', `--out=${out}`, ...args], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  const [code] = (await once(child, 'close')) as [number | null];
  const name = args[0]?.replace('--adapter=', '') ?? '';
  return { code, run: JSON.parse(readFileSync(join(out, `${name}.json`), 'utf8')) as Run };
}

/** A checkout of its own that builds itself; the packages and the downloaded tools are those of this one. */
function copyCheckout(): string {
  mkdirSync(LOCAL, { recursive: true });
  const copy = mkdtempSync(join(LOCAL, 'test-conformance-'));
  folders.push(copy);
  for (const name of [...COPIED, ...COPIED_TOO]) cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  mkdirSync(join(copy, '.local'));
  symlinkSync(join(LOCAL, 'tools'), join(copy, '.local', 'tools'));
  return copy;
}
