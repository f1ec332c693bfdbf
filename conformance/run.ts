#!/usr/bin/env node
/** Runs the kit against a product: see README.md. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Adapter } from './src/adapters/adapter.ts';
import { ADAPTERS } from './src/adapters/adapters.ts';
import type { Bench } from './src/bench.ts';
import { gatherEvidence } from './src/evidence.ts';
import { MODELS } from './src/models.ts';
import { PRICES } from './src/money/terms.ts';
import { renderHtml, renderMarkdown } from './src/report/page.ts';
import { addUp, makeRun, type Run, toJson } from './src/report/summary.ts';
import { allRows } from './src/rows/all-rows.ts';
import type { Row } from './src/rows/row.ts';
import { runRows } from './src/run-rows.ts';
import { ScriptedUpstream } from './src/upstream/scripted-upstream.ts';

const HELP = `node conformance/run.ts --adapter NAME [options]

Runs a gateway against a scripted upstream, and prints what it bills beside what was served.

  --adapter NAME   product: ${ADAPTERS.map(({ name, notRunHere }) => (notRunHere ? `${name} (${notRunHere}, not run by us)` : name)).join(', ')}
  --only TEXT      rows whose name contains the text; may be given several times
  --by-hand        prints each request of the rows as a curl command, and keeps product and upstream running until Ctrl-C
  --quick          the rows that take seconds
  --seed NUMBER    seed of the random amounts; default 1
  --out FOLDER     where NAME.json, NAME.md and NAME.html are written; default .local/conformance
  --set NAME=VALUE a setting of the adapter; may be given several times
  --upstream-port NUMBER  port of the scripted upstream on 127.0.0.1, for products that are configured by hand; default any
  --list           prints the rows, and runs nothing
  --help           this text

Progress goes to stderr, the summary to stdout. The exit code is 1 when a row failed, 2 when the kit could not run.
`;

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 2;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      adapter: { type: 'string' },
      only: { type: 'string', multiple: true },
      quick: { type: 'boolean', default: false },
      'by-hand': { type: 'boolean', default: false },
      seed: { type: 'string', default: '1' },
      out: { type: 'string', default: '.local/conformance' },
      set: { type: 'string', multiple: true, default: [] },
      'upstream-port': { type: 'string', default: '0' },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const [seed, upstreamPort] = [readNumber('seed', values.seed), readNumber('upstream-port', values['upstream-port'])];
  const settings = Object.fromEntries(values.set.map(readSetting));
  const isWanted = (row: { id: string; isQuick?: boolean }): boolean =>
    (!values.quick || row.isQuick === true) && (!values.only || values.only.some((text) => row.id.includes(text)));
  if (values.list) {
    for (const row of allRows({}).filter(isWanted)) process.stdout.write(`${row.id}: ${row.title}\n`);
    return 0;
  }
  const adapter = ADAPTERS.find(({ name }) => name === values.adapter);
  if (!adapter) throw new Error(`--adapter must be one of ${ADAPTERS.map(({ name }) => name).join(', ')}`);
  const run = await runProduct(adapter, { isWanted, seed, settings, upstreamPort, isByHand: values['by-hand'] });
  if (run.rows.length === 0) throw new Error('no row has such a name: see --list');
  mkdirSync(values.out, { recursive: true });
  const file = join(values.out, adapter.name);
  writeFileSync(`${file}.json`, toJson(run));
  writeFileSync(`${file}.md`, renderMarkdown(run));
  writeFileSync(`${file}.html`, renderHtml(run));
  return printSummary(run, file);
}

interface Choice {
  isWanted(row: { id: string; isQuick?: boolean }): boolean;
  seed: number;
  settings: Record<string, string>;
  upstreamPort: number;
  isByHand: boolean;
}

async function runProduct(adapter: Adapter, { isWanted, seed, settings, upstreamPort, isByHand }: Choice): Promise<Run> {
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  const started = performance.now();
  const folder = mkdtempSync(join(tmpdir(), 'conformance-'));
  const upstream = await ScriptedUpstream.start({ port: upstreamPort });
  try {
    const product = await adapter.start({ upstreamOrigin: upstream.origin, models: MODELS, prices: PRICES, folder, settings, say });
    const stopOnSignal = (): void => void product.stop().finally(() => process.exit(130));
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, stopOnSignal);
    try {
      const wanted = allRows(product).filter(isWanted);
      const rows = await runRows({ adapter, product, upstream, rows: wanted, seed, say, ...(isByHand && { onRow: printByHand }) });
      if (isByHand) await new Promise(() => say('Ctrl-C ends product and upstream'));
      for (const stray of upstream.strays) say(`the upstream was called without a script: ${stray}`);
      const machine = `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown processor'}, Node ${process.versions.node}`;
      return makeRun({ adapter, product, seed, machine, seconds: Math.round((performance.now() - started) / 1_000), rows });
    } finally {
      await product.stop();
    }
  } finally {
    await upstream.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Prints the requests of a row. Its script stays, so that the commands get the same replies. */
function printByHand(row: Row, bench: Bench): void {
  process.stdout.write(`\n# ${row.id}: ${row.title}\n`);
  for (const [index, { curl, heard, upstreamWrote }] of gatherEvidence(bench, bench.sent.length).entries())
    process.stdout.write(
      `\nKEY=${bench.sent[index]?.key}\n${curl}\n\n# The client heard:\n${heard}\n# The upstream wrote:\n${upstreamWrote}\n`,
    );
}

function printSummary(run: Run, file: string): number {
  const { counts, moneyRows, offPicoUsd, heldPicoUsd } = addUp(run.rows);
  for (const { id, result, faults } of run.rows)
    if (result === 'failed' || result === 'broken')
      process.stdout.write(`${result} ${id}\n${faults.map((fault) => `    ${fault}\n`).join('')}`);
  const money = moneyRows === 0 ? '' : `; ${moneyRows} rows with dollars, ${offPicoUsd} pico-dollars off, ${heldPicoUsd} on hold`;
  process.stdout.write(
    `${run.product}: ${counts.passed} passed, ${counts.failed} failed, ${counts['not offered']} not offered, ${counts.broken} broken${money}; ${run.seconds} s; ${file}.html\n`,
  );
  return counts.failed + counts.broken > 0 ? 1 : 0;
}

function readNumber(name: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new Error(`--${name} must be a whole number, not ${text}`);
  return Number(text);
}

function readSetting(text: string): [string, string] {
  const at = text.indexOf('=');
  if (at < 1) throw new Error(`--set needs NAME=VALUE, not ${text}`);
  return [text.slice(0, at), text.slice(at + 1)];
}
