/**
 * Cost of the formats alone: microseconds to parse a request, to render it for an upstream, to parse an upstream's events, and to render
 * replies, each beside `JSON` on the same bytes. See ../README.md, "The formats".
 *
 *   node bench/protocols/run.mjs [--rounds N] [--millis M] [--out NAME]
 */
import { parseArgs } from 'node:util';
import { ensureBuilt } from '../../scripts/local/build.ts';
import { machineSeconds } from '../cpu-time.mjs';
import { describeMachine, markdown, median, writeResult } from '../report.mjs';
import { COMPLETION, EVENTS, UPSTREAM_STREAMS, USAGE } from './replies.mjs';
import { makeBody, WORKLOADS } from './requests.mjs';

/**
 * @typedef {{ work: () => unknown, units: number, micros: number[] }} Task  `units`: what one run of `work` counts for
 * @typedef {{ cells: string[], bytes: number, ours: Task, parse: Task, both: Task }} Row  JSON's own work: `parse`, and parse and stringify
 * @typedef {{ title: string, heads: string[], rows: Row[] }} Table
 */

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' },
    millis: { type: 'string', default: '60' },
    out: { type: 'string', default: 'protocols' },
  },
});
const rounds = Number(flags.rounds);
const millis = Number(flags.millis);
const REPLY = {
  id: '7hG2kQ9xWvB4',
  requestId: 'req_7hG2kQ9xWvB4',
  createdSeconds: 1_760_000_000,
  nowSeconds: () => 1_760_000_001,
  model: 'sim-fast',
};
const REPLY_SAID = '256 pieces of text, one call';
const FIGURES = ['µs', 'JSON.parse µs', 'parse + stringify µs', '× parse', '× both'];
const FORMATS = /** @type {const} */ (['chat', 'responses', 'messages']);
/** Keeps results, so that the compiler cannot remove the work. */
const kept = { result: /** @type {unknown} */ (undefined) };

await ensureBuilt({ step: (/** @type {string} */ _name, /** @type {() => Promise<unknown>} */ work) => work() });
const built = (/** @type {string} */ path) => import(new URL(`../../dist/apps/${path}.js`, import.meta.url).href);
const { parseJson } = await built('gateway/src/http/bodies/parse-json');
const { SseParser } = await built('inference-proxy/src/transport/sse-parser');
const { ADAPTERS } = await built('inference-proxy/src/upstreams/adapters');
const { CapabilitiesEntry } = await built('catalog/src/file/catalog-file.schema');
/** @type {any[]} */
const adapters = await Promise.all(FORMATS.map(async (name) => (await built(`gateway/src/protocols/${name}/adapter`))[`${name}Adapter`]));

/** @type {Table[]} */
const tables = [
  {
    title: 'Requests: from the bytes of a body to the canonical request (limits, UTF-8, shape and every field checked)',
    heads: ['request', 'format'],
    rows: WORKLOADS.flatMap((workload) => adapters.map((adapter) => parseRow(workload, adapter))),
  },
  {
    title: 'Requests for an upstream: from the canonical request to the bytes of a body',
    heads: ['request', 'dialect'],
    rows: WORKLOADS.flatMap((workload) => Object.values(ADAPTERS).map((adapter) => renderRequestRow(workload, adapter))),
  },
  {
    title: 'Plain replies: from the completion to the text of a body',
    heads: ['to the request', 'format'],
    rows: WORKLOADS.slice(0, 2).flatMap((workload) => adapters.map((adapter) => renderReplyRow(workload, adapter))),
  },
  {
    title: 'Streams for clients, each event: from the canonical event to the text of its frames, every event written alone',
    heads: ['reply', 'format'],
    rows: adapters.map(renderStreamRow),
  },
  {
    title: 'Streams of upstreams, each event: from the bytes of a chunk to canonical events, every event a chunk of its own',
    heads: ['reply', 'dialect'],
    rows: Object.values(ADAPTERS).map(readStreamRow),
  },
];
await main();

async function main() {
  const tasks = tables.flatMap(({ rows }) => rows.flatMap(({ ours, parse, both }) => [ours, parse, both]));
  const before = { machine: machineSeconds(), own: process.cpuUsage() };
  for (let round = -1; round < rounds; round++) {
    console.error(round < 0 ? 'warm-up' : `round ${round + 1} of ${rounds}`);
    for (const task of tasks) {
      const micros = measure(task);
      if (round >= 0) task.micros.push(micros);
    }
  }
  const text = [
    `# ${new Date().toISOString().slice(0, 10)}: the formats`,
    `Machine: ${describeMachine()}. ${othersShare(before)}`,
    `Method: \`bench/README.md\`, "The formats". Microseconds of processor time, medians of ${rounds} rounds of ${millis} ms; in brackets the lowest and highest.`,
    ...tables.flatMap(({ title, heads, rows }) => [`## ${title}`, markdown([...heads, 'bytes', ...FIGURES], rows.map(renderCells))]),
    '',
  ].join('\n\n');
  await writeResult(text, flags.out);
}

/** Share of the machine that other processes used. Caches and clocks are shared, even if only processor time is counted. */
function othersShare(/** @type {{ machine: ReturnType<typeof machineSeconds>, own: NodeJS.CpuUsage }} */ before) {
  const machine = machineSeconds();
  const { user, system } = process.cpuUsage(before.own);
  const others = machine.used - before.machine.used - (user + system) / 1e6;
  const share = Math.max(0, others) / (machine.available - before.machine.available);
  return `Other programs took ${(100 * share).toFixed(0)} % of it.`;
}

/** Processor time of one unit, garbage collection on all threads included. @param {Task} task */
function measure({ work, units }) {
  const end = performance.now() + millis;
  const begun = process.cpuUsage();
  let runs = 0;
  do {
    kept.result = work();
    runs++;
  } while (performance.now() < end);
  const { user, system } = process.cpuUsage(begun);
  return (user + system) / runs / units;
}

/** @param {Row} row */
function renderCells({ cells, bytes, ours, parse, both }) {
  const [own, parsing, bothWays] = [ours, parse, both].map(({ micros }) => median(micros));
  const range = `(${figure(Math.min(...ours.micros))}–${figure(Math.max(...ours.micros))})`;
  const ratio = (/** @type {number} */ other) => (own / other).toFixed(2);
  return [
    ...cells,
    bytes.toLocaleString('en'),
    `${figure(own)} ${range}`,
    figure(parsing),
    figure(bothWays),
    ratio(parsing),
    ratio(bothWays),
  ];
}

/** @param {number} micros */
function figure(micros) {
  return micros >= 100 ? Math.round(micros).toLocaleString('en') : micros.toPrecision(3);
}

/** @param {import('./requests.mjs').Workload} workload */
function parseRow(workload, /** @type {any} */ adapter) {
  const bytes = Buffer.from(JSON.stringify(makeBody(adapter.name, workload)));
  return row([workload.name, adapter.name], [bytes], () => adapter.parseRequest(parseJson(bytes)));
}

/** @param {import('./requests.mjs').Workload} workload */
function makeCall(/** @type {any} */ request, workload) {
  const promptTokensEstimate = Math.ceil(JSON.stringify(makeBody('chat', workload)).length / 4);
  const size = { outputTokensMax: 4096, promptTokensEstimate };
  return {
    request,
    model: 'model-1',
    baseUrl: 'http://127.0.0.1/v1',
    accountId: 'a',
    ...size,
    stream: true,
    capabilities: new CapabilitiesEntry(),
  };
}

/** @param {import('./requests.mjs').Workload} workload */
function renderRequestRow(workload, /** @type {any} */ adapter) {
  const { request } = adapters[0].parseRequest(makeBody('chat', workload));
  const call = makeCall(request, workload);
  const render = () => JSON.stringify(adapter.renderRequest(call, 'key').body);
  return row([workload.name, adapter.kind], [Buffer.from(render())], render);
}

/** @param {import('./requests.mjs').Workload} workload */
function renderReplyRow(workload, /** @type {any} */ adapter) {
  const parsed = adapter.parseRequest(makeBody(adapter.name, workload));
  const render = () => adapter.renderCompletion(REPLY, parsed, COMPLETION);
  return row([workload.name, adapter.name], [Buffer.from(render())], render);
}

function renderStreamRow(/** @type {any} */ adapter) {
  const parsed = adapter.parseRequest(makeBody(adapter.name, WORKLOADS[0]));
  const render = () => {
    const renderer = adapter.renderStream(REPLY, parsed);
    const pieces = EVENTS.map((event) => renderer.render([event]));
    return [...pieces, renderer.finish(COMPLETION.finishReason, USAGE)].join('');
  };
  const payloads = render()
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => Buffer.from(line.slice(6)));
  return row([REPLY_SAID, adapter.name], payloads, render, EVENTS.length + 1);
}

function readStreamRow(/** @type {any} */ adapter) {
  const events = UPSTREAM_STREAMS[/** @type {import('./replies.mjs').Dialect} */ (adapter.kind)]();
  const chunks = events.map(({ event, data }) => Buffer.from(`${event ? `event: ${event}\n` : ''}data: ${data}\n\n`));
  const { request } = adapters[0].parseRequest(makeBody('chat', WORKLOADS[0]));
  const call = makeCall(request, WORKLOADS[0]);
  const read = () => {
    const [lines, parser] = [new SseParser(), adapter.openStream(call)];
    /** @type {object[]} */
    const read = [];
    const take = (/** @type {string} */ payload) => parser.push(payload, read);
    for (const chunk of chunks) lines.push(chunk, take);
    lines.end(take);
    parser.end(read);
    return read;
  };
  const payloads = events.filter(({ data }) => data.startsWith('{')).map(({ data }) => Buffer.from(data));
  return row([REPLY_SAID, adapter.kind], payloads, read, events.length);
}

/** Tollgate's work beside that of `JSON` on the same bytes. @returns {Row} */
function row(/** @type {string[]} */ cells, /** @type {Buffer[]} */ payloads, /** @type {() => unknown} */ work, units = 1) {
  const task = (/** @type {() => unknown} */ job) => ({ work: job, units, micros: [] });
  const parse = () => payloads.map((bytes) => JSON.parse(bytes.toString()));
  return {
    cells,
    bytes: Math.round(payloads.reduce((sum, { length }) => sum + length, 0) / units),
    ours: task(work),
    parse: task(parse),
    both: task(() => payloads.map((bytes) => Buffer.from(JSON.stringify(JSON.parse(bytes.toString()))))),
  };
}
