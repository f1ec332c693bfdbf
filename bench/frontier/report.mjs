import { writeFile } from 'node:fs/promises';
import { chartFrontier, chartLatency } from '../plots/charts.mjs';
import { describeMachine, markdown, median, total } from '../report.mjs';
import { planReplicas, priceMillion } from './paper.mjs';
import { sustainedRate } from './search.mjs';

/**
 * One measurement. `ms` is the 99th percentile, from the time at which a request was due to its last byte. `cpuMs` is CPU time of a request,
 * `processCores` what each process of the target kept busy; `cores` is that of the load generator, and `busy` the share of the machine.
 *
 * @typedef {import('./search.mjs').Point & import('../load-worker.mjs').OpenOutcome & { round: number, target: string,
 *   mode: 'plain' | 'streamed', requests: number, seconds: number, p50: number, p99: number, connections: number, faults: number,
 *   firstError?: string, answered: number, noise: number, busy: number, repeated?: boolean, cpuMs: Record<string, number>,
 *   processCores: Record<string, number> }} Sample
 * @typedef {{ target: string } & Awaited<ReturnType<typeof import('./money.mjs').auditMoney>>} Money
 * @typedef {{ settings: { bounds: number[], modes: string[], rounds: number, steps: number, seconds: number, leadSeconds: number,
 *   warmUpSeconds: number }, prices: import('./paper.mjs').Prices, samples: Sample[],
 *   roundsDone: number, memoryMb: Record<string, Record<string, number>>,
 *   money: Money[], growth?: string, out: string,
 *   day?: string, machine?: string }} Result
 * @typedef {{ mode: string, target: string, bound: number, rates: number[], rate: number }} Figure the rate of each round, and their median
 */

/** A process or the load generator with so much of a core, or the machine with such a share, is what limits. */
const FULL = { core: 0.9, machine: 0.93 };
/** Cores of a Postgres server in the sums on paper. */
const SHARD_CORES = 8;
const REPLICAS = [1, 10, 100];

/**
 * Prints the report, and writes it with its charts and raw measurements to `results`. A result that was read from there has its day and
 * machine.
 *
 * @param {Result} measured
 */
export async function saveFrontier(measured) {
  const result = { day: new Date().toISOString(), machine: describeMachine(), ...measured };
  const name = `${result.day.slice(0, 10)}-${result.out}`;
  const figures = findFigures(result);
  const report = renderReport(result, figures, name);
  console.log(report);
  const write = (/** @type {string} */ file, /** @type {string} */ text) =>
    writeFile(new URL(`../results/${file}`, import.meta.url), `${text.trimEnd()}\n`);
  await write(`${name}.json`, renderRaw(result, figures));
  await write(`${name}-rates.svg`, await chartFrontier(figures));
  await write(`${name}-latency.svg`, await chartLatency(result.samples, result.settings.bounds));
  await write(`${name}.md`, report);
  console.error(`written to bench/results/${name}.md and .json`);
}

/** Rates of each target and bound, of the rounds that are whole. @param {Result} result @returns {Figure[]} */
function findFigures({ settings, samples, roundsDone }) {
  const targets = [...new Set(samples.map(({ target }) => target))];
  const rounds = Array.from({ length: Math.max(1, roundsDone) }, (_, round) => round);
  return settings.modes.flatMap((mode) =>
    targets.flatMap((target) =>
      settings.bounds.map((bound) => {
        const rates = rounds.flatMap((round) => {
          const points = samples.filter((one) => one.round === round && one.mode === mode && one.target === target);
          return points.length === 0 ? [] : [sustainedRate(points, bound) ?? 0];
        });
        return { mode, target, bound, rates, rate: median(rates) };
      }),
    ),
  );
}

/** @param {Result} result @param {Figure[]} figures @param {string} name */
function renderReport({ settings, prices, samples, roundsDone, memoryMb, money, growth, machine }, figures, name) {
  const { rounds, steps, seconds, leadSeconds } = settings;
  const top = Math.max(...settings.bounds);
  const known = figures
    .filter(({ bound, rate }) => bound === top && rate > 0)
    .map((figure) => ({ figure, sample: findSample(samples, figure) }));
  const noise = samples.map((sample) => sample.noise);
  return [
    `# ${name.slice(0, 10)}: the frontier, with money on`,
    `Machine: ${machine}. Load generator, upstream, targets, Postgres and NATS share it: compare within this run.`,
    `Method: \`docs/frontier.md\`. ${roundsDone} of ${rounds} rounds of at most ${steps} measurements of ${seconds} s ` +
      `(after ${leadSeconds} s of the same load) for each target and mode, in turn; ${samples.length} measurements. Median of the rounds, lowest and highest. ` +
      `Others took ${percent(median(noise))} of the machine (median; at most ${percent(Math.max(...noise))}); ` +
      `${samples.filter(({ repeated }) => repeated).length} measurements with more than 10 % were repeated.`,
    ...settings.modes.flatMap((mode) => [
      `${mode === 'plain' ? 'Requests' : 'Streams'} a second, of 64 tokens each, with a 99th percentile of at most:`,
      renderRates(figures.filter((figure) => figure.mode === mode)),
    ]),
    'The same from the measurements of all rounds together: the rate that keeps the bound, and the next higher one that was measured. The ' +
      'limit lies between them, as far as the noise allows.',
    renderBrackets(settings, samples),
    'Ratios of these medians, and of the CPU time of a request at the highest rates (“none” against any rate has no ratio):',
    renderRatios(figures, known),
    `![Rates by bound](${name}-rates.svg)`,
    `![Latency by rate](${name}-latency.svg)`,
    `At the highest rate that keeps ${top} ms, and what was full just above it:`,
    markdown(
      [
        'load',
        'target',
        'a second',
        'p50 ms',
        'p99 ms',
        'sent late, p99 ms',
        'CPU ms a request',
        'load generator, cores',
        'machine',
        'limit',
      ],
      known.map(({ figure, sample }) => [
        figure.mode,
        figure.target,
        format(sample.rate),
        sample.p50.toFixed(1),
        sample.p99.toFixed(1),
        sample.lateP99.toFixed(1),
        total(sample.cpuMs).toFixed(3),
        sample.cores.toFixed(2),
        percent(sample.busy),
        findLimit(samples, figure),
      ]),
    ),
    'CPU milliseconds of a request there, by process:',
    renderProcesses(known),
    'The money of the same run, in pico-dollars (10⁻¹² USD):',
    markdown(
      ['target', 'replies', 'settlements', 'owed by the usage in the replies', 'charged', 'still held', 'budgets', 'error'],
      money.map((one) => [
        one.target,
        format(one.replies),
        format(one.settlements),
        BigInt(one.owedPicoUsd).toLocaleString('en'),
        BigInt(one.chargedPicoUsd).toLocaleString('en'),
        String(one.parts.held),
        String(one.budgets),
        one.errorPicoUsd,
      ]),
    ),
    `On paper, for plain requests: a million of them at $${prices.coreHour} a core-hour, $${prices.gbHour} a GB-hour of memory, ` +
      `$${prices.diskGbMonth} a GB-month of disk for ${prices.journalMonths} months, cores ${percent(prices.utilization)} used:`,
    renderPrices(known, memoryMb, prices),
    `On paper: replicas of each service, and servers of Postgres with ${SHARD_CORES} cores, at the same use of the cores:`,
    renderPlans(known, prices),
    ...(growth ? [`Curves of accounts, keys, open streams and journal rows: \`${name.slice(0, 10)}-${growth}.md\`.`] : []),
    '',
  ].join('\n\n');
}

/** @param {Figure[]} figures of one mode */
function renderRates(figures) {
  const bounds = [...new Set(figures.map(({ bound }) => bound))];
  const targets = [...new Set(figures.map(({ target }) => target))];
  const find = (/** @type {string} */ target, /** @type {number} */ bound) =>
    figures.find((one) => one.target === target && one.bound === bound);
  const cell = (/** @type {Figure | undefined} */ figure) => {
    const [low, high] = [Math.min(...(figure?.rates ?? [])), Math.max(...(figure?.rates ?? []))];
    if (figure === undefined || high === 0) return 'none';
    return figure.rates.length < 2 ? format(figure.rate) : `${format(figure.rate)} (${format(low)}–${format(high)})`;
  };
  return markdown(
    ['target', ...bounds.map((bound) => `${bound} ms`)],
    targets.map((target) => [target, ...bounds.map((bound) => cell(find(target, bound)))]),
  );
}

/** @param {Result['settings']} settings @param {Sample[]} samples */
function renderBrackets({ modes, bounds }, samples) {
  const targets = [...new Set(samples.map(({ target }) => target))];
  const rows = modes.flatMap((mode) =>
    targets.map((target) => {
      const own = samples.filter((one) => one.mode === mode && one.target === target);
      const cells = bounds.map((bound) => {
        const rate = sustainedRate(own, bound) ?? 0;
        const above = own.filter((one) => one.rate > rate).map((one) => one.rate);
        return `${format(rate)} – ${above.length === 0 ? '' : format(Math.min(...above))}`;
      });
      return [mode, target, ...cells];
    }),
  );
  return markdown(['load', 'target', ...bounds.map((bound) => `${bound} ms`)], rows);
}

/** Compares one process with each other target. @param {Figure[]} figures @param {{ figure: Figure, sample: Sample }[]} known */
function renderRatios(figures, known) {
  const bounds = [...new Set(figures.map(({ bound }) => bound))];
  const one = figures.find(({ target }) => target.startsWith('Tollgate, all'))?.target;
  const others = [...new Set(figures.map(({ target }) => target))].filter((target) => target !== one);
  const rows = [...new Set(figures.map(({ mode }) => mode))].flatMap((mode) =>
    others.map((other) => {
      const rate = (/** @type {string | undefined} */ target, /** @type {number} */ bound) =>
        figures.find((figure) => figure.mode === mode && figure.target === target && figure.bound === bound)?.rate ?? 0;
      const cpu = (/** @type {string | undefined} */ target) =>
        total(known.find(({ figure }) => figure.mode === mode && figure.target === target)?.sample.cpuMs ?? {});
      const ratio = (/** @type {number} */ ours, /** @type {number} */ theirs) =>
        ours > 0 && theirs > 0 ? (ours / theirs).toFixed(2) : '–';
      return [
        mode,
        `${one} ÷ ${other}`,
        ...bounds.map((bound) => ratio(rate(one, bound), rate(other, bound))),
        ratio(cpu(one), cpu(other)),
      ];
    }),
  );
  return markdown(['load', 'rates of', ...bounds.map((bound) => `${bound} ms`), 'CPU'], one === undefined ? [] : rows);
}

/** @param {{ figure: Figure, sample: Sample }[]} known */
function renderProcesses(known) {
  const ours = known.filter(({ sample }) => Object.keys(sample.cpuMs).length > 1);
  const names = [...new Set(ours.flatMap(({ sample }) => Object.keys(sample.cpuMs)))];
  return markdown(
    ['load', 'target', ...names, 'all'],
    ours.map(({ figure, sample }) => [
      figure.mode,
      figure.target,
      ...names.map((name) => sample.cpuMs[name]?.toFixed(3) ?? '–'),
      total(sample.cpuMs).toFixed(3),
    ]),
  );
}

/** @param {{ figure: Figure, sample: Sample }[]} known @param {Result['memoryMb']} memoryMb @param {Result['prices']} prices */
function renderPrices(known, memoryMb, prices) {
  const rows = known
    .filter(({ figure }) => figure.mode === 'plain' && figure.target !== 'direct')
    .map(({ figure, sample }) => {
      const memoryGb = total(memoryMb[figure.target] ?? {}) / 1_000;
      const isTollgate = 'postgres' in sample.cpuMs;
      const price = priceMillion(
        { cpuMs: sample.cpuMs, memoryGb, rate: sample.rate },
        { ...prices, journalMonths: isTollgate ? prices.journalMonths : 0 },
      );
      const dollars = [price.processor, price.memory, price.journal, price.usd].map((usd) => `$${usd.toFixed(3)}`);
      return [figure.target, price.cpuSeconds.toFixed(0), memoryGb.toFixed(2), ...dollars];
    });
  return markdown(['target', 'CPU-seconds', 'memory GB', 'processor', 'memory', 'journal', 'in all'], rows);
}

/** @param {{ figure: Figure, sample: Sample }[]} known @param {Result['prices']} prices */
function renderPlans(known, { utilization }) {
  const rows = known
    .filter(({ figure, sample }) => figure.mode === 'plain' && 'postgres' in sample.cpuMs)
    .flatMap(({ figure, sample }) =>
      REPLICAS.map((replicas) => {
        const plan = planReplicas(sample.cpuMs, { replicas, utilization, shardCores: SHARD_CORES });
        return [
          figure.target,
          String(replicas),
          format(plan.requestsPerSecond),
          plan.first,
          plan.postgresCores.toFixed(1),
          plan.natsCores.toFixed(1),
          String(plan.shards),
          plan.journalTbMonth.toFixed(2),
        ];
      }),
    );
  return markdown(
    ['layout', 'replicas', 'requests/s', 'full first', 'Postgres cores', 'NATS cores', 'Postgres servers', 'journal TB a month'],
    rows,
  );
}

/** The measurement whose rate is nearest to a figure. @param {Sample[]} samples @param {Figure} figure */
function findSample(samples, { mode, target, rate, bound }) {
  const own = samples.filter((one) => one.mode === mode && one.target === target && one.isSustained && one.ms <= bound);
  const distance = (/** @type {Sample} */ sample) => Math.abs(Math.log(sample.rate / rate));
  return /** @type {Sample} */ (own.sort((one, other) => distance(one) - distance(other))[0]);
}

/** Names the parts that are full at the lowest rate that no longer keeps the bound. @param {Sample[]} samples @param {Figure} figure */
function findLimit(samples, { mode, target, rate, bound }) {
  const above = samples.filter(
    (one) => one.mode === mode && one.target === target && one.rate > rate && !(one.isSustained && one.ms <= bound),
  );
  const [first] = above.sort((one, other) => one.rate - other.rate);
  if (first === undefined) return 'not reached';
  const full = Object.entries(first.processCores).filter(([name, cores]) => name !== 'postgres' && cores >= FULL.core);
  const words = [
    ...(first.cores >= FULL.core ? ['load generator'] : []),
    ...full.map(([name]) => name),
    ...(first.busy >= FULL.machine ? ['machine'] : []),
  ];
  return words.join(', ') || 'waiting';
}

/** All measurements, one a line. @param {Result} result @param {Figure[]} figures */
function renderRaw({ day, machine, settings, prices, samples, roundsDone, memoryMb, money, growth, out }, figures) {
  const rounded = (/** @type {string} */ _name, /** @type {unknown} */ value) =>
    typeof value === 'number' ? Number(value.toPrecision(5)) : value;
  const lines = (/** @type {unknown[]} */ rows) => rows.map((row) => `\n    ${JSON.stringify(row, rounded)}`).join(',');
  const head = { day, machine, out, settings, prices, roundsDone, memoryMb, money, growth };
  const text = JSON.stringify(head, undefined, 2).slice(0, -2);
  return `${text},\n  "figures": [${lines(figures)}\n  ],\n  "samples": [${lines(samples)}\n  ]\n}`;
}

/** @param {number} share */
function percent(share) {
  return `${(100 * share).toFixed(0)} %`;
}

/** A rate of 0 is none. @param {number} value */
function format(value) {
  return value === 0 ? 'none' : Math.round(value).toLocaleString('en');
}
