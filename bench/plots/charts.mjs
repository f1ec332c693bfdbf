/**
 * The charts of a report, as SVG. Vega-Lite draws them; it is installed on first use.
 *
 * @typedef {import('../report.mjs').Series} Series
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { middle, total } from '../report.mjs';

const DIRECTORY = fileURLToPath(new URL('.', import.meta.url));
const COLOR_SCHEME = 'tableau10';

/**
 * Requests a second of every target, one panel for each load: a bar for the median, a line from the lowest to the highest round.
 *
 * @param {Series[]} series @returns {Promise<string>}
 */
export function chartRequests(series) {
  const values = series.map(({ scenario, target, samples }) => {
    const rates = samples.map(({ requestsPerSecond }) => requestsPerSecond);
    return {
      load: describeLoad(scenario),
      target,
      median: middle(samples).requestsPerSecond,
      low: Math.min(...rates),
      high: Math.max(...rates),
    };
  });
  const x = { field: 'target', type: 'nominal', sort: null, axis: { title: null, labelAngle: -40 } };
  return renderSvg({
    data: { values },
    facet: { column: { field: 'load', sort: null, title: null } },
    resolve: { scale: { y: 'independent' } },
    spec: {
      width: 150,
      height: 180,
      layer: [
        {
          mark: 'bar',
          encoding: {
            x,
            y: { field: 'median', type: 'quantitative', axis: { title: 'requests/s', grid: true } },
            color: { field: 'target', legend: null, sort: null, scale: { scheme: COLOR_SCHEME } },
          },
        },
        { mark: { type: 'rule', strokeWidth: 2 }, encoding: { x, y: { field: 'low', type: 'quantitative' }, y2: { field: 'high' } } },
      ],
    },
  });
}

/**
 * CPU milliseconds a request of every target, one panel for each load, stacked by process.
 *
 * @param {Series[]} series @returns {Promise<string>}
 */
export function chartCpu(series) {
  const values = series.flatMap(({ scenario, target, samples }) =>
    Object.entries(middle(samples).cpu).map(([process, seconds]) => ({
      load: describeLoad(scenario),
      target,
      process,
      milliseconds: seconds,
    })),
  );
  return renderSvg({
    data: { values },
    facet: { column: { field: 'load', sort: null, title: null } },
    resolve: { scale: { y: 'independent' } },
    spec: {
      width: 150,
      height: 180,
      mark: 'bar',
      encoding: {
        x: { field: 'target', type: 'nominal', sort: null, axis: { title: null, labelAngle: -40 } },
        y: { field: 'milliseconds', type: 'quantitative', axis: { title: 'CPU ms a request' } },
        color: { field: 'process', sort: null, scale: { scheme: COLOR_SCHEME }, legend: { title: null, orient: 'bottom' } },
      },
    },
  });
}

/**
 * Cost that each target adds to a plain request: the time of a lone one beyond that of the upstream itself, and CPU time at 32 connections.
 *
 * @param {Series[]} series @returns {Promise<string> | undefined} nothing where a run left out one of the loads, or the upstream
 */
export function chartAdded(series) {
  const find = (/** @type {string} */ target, /** @type {number} */ connections) =>
    series.find(({ scenario, ...one }) => one.target === target && scenario.mode === 'plain' && scenario.connections === connections);
  const direct = find('direct', 1);
  const values = [...new Set(series.map(({ target }) => target))].flatMap((target) => {
    const [lone, busy] = [find(target, 1), find(target, 32)];
    if (!direct || !lone || !busy || target === 'direct') return [];
    return [{ target, added: middle(lone.samples).p50 - middle(direct.samples).p50, cpu: total(middle(busy.samples).cpu) }];
  });
  if (values.length === 0) return undefined;
  const panel = (/** @type {string} */ field, /** @type {string} */ title) => {
    const y = { field: 'target', type: 'nominal', sort: null, axis: { title: null } };
    const x = { field, type: 'quantitative', axis: { title: 'ms', grid: true } };
    return {
      title: { text: title, fontWeight: 'normal' },
      width: 260,
      height: 28 * values.length,
      layer: [
        { mark: 'bar', encoding: { y, x, color: { field: 'target', legend: null, sort: null, scale: { scheme: COLOR_SCHEME } } } },
        { mark: { type: 'text', align: 'left', dx: 4 }, encoding: { y, x, text: { field, type: 'quantitative', format: '.2f' } } },
      ],
    };
  };
  return renderSvg({
    data: { values },
    hconcat: [panel('added', 'Added to a lone request (median)'), panel('cpu', 'CPU a request, 32 connections')],
  });
}

/**
 * One panel for each curve: a dot for each round, a line through the medians, sizes on a logarithmic scale.
 *
 * @param {import('../growth/run.mjs').Point[]} points @returns {Promise<string>}
 */
export function chartCurves(points) {
  const x = { field: 'x', type: 'quantitative', scale: { type: 'symlog' }, axis: { title: null, format: '~s' } };
  const y = { field: 'microseconds', type: 'quantitative', scale: { zero: true }, axis: { title: 'CPU µs' } };
  return renderSvg({
    data: { values: points },
    facet: { field: 'curve', sort: null, title: null, header: { labelLimit: 400 } },
    columns: 2,
    resolve: { scale: { x: 'independent', y: 'independent' } },
    spec: {
      width: 320,
      height: 180,
      layer: [
        { mark: 'point', encoding: { x, y } },
        { mark: 'line', encoding: { x, y: { ...y, aggregate: 'median' } } },
      ],
    },
  });
}

/**
 * The rate that each target sustains by bound: a point for the median of the rounds, a line from the lowest to the highest, as
 * far as they keep the bound at any rate. A target whose median is none has no point there.
 *
 * @param {import('../frontier/report.mjs').Figure[]} figures @returns {Promise<string>}
 */
export function chartFrontier(figures) {
  const values = figures
    .filter(({ rate }) => rate > 0)
    .map(({ mode, target, bound, rates, rate }) => ({
      ...{ load: MODE_TITLES[mode], target, bound: `${bound} ms`, rate },
      ...{ low: Math.min(...rates.filter((one) => one > 0)), high: Math.max(...rates) },
    }));
  const x = { field: 'bound', type: 'nominal', sort: null, axis: { title: 'bound of the 99th percentile', labelAngle: 0 } };
  const xOffset = { field: 'target', type: 'nominal', sort: null };
  const color = {
    field: 'target',
    type: 'nominal',
    sort: null,
    scale: { scheme: COLOR_SCHEME },
    legend: { title: null, orient: 'bottom' },
  };
  const y = {
    field: 'rate',
    type: 'quantitative',
    scale: { type: 'log', nice: false, padding: 8 },
    axis: { title: 'a second', grid: true, format: '~s' },
  };
  return renderSvg({
    data: { values },
    facet: { column: { field: 'load', sort: null, title: null } },
    spec: {
      width: 320,
      height: 240,
      layer: [
        { mark: { type: 'rule', strokeWidth: 2 }, encoding: { x, xOffset, color, y: { ...y, field: 'low' }, y2: { field: 'high' } } },
        { mark: { type: 'point', filled: true, size: 60, opacity: 1 }, encoding: { x, xOffset, color, y } },
      ],
    },
  });
}

/**
 * The 99th percentile of latency by rate, a dot for each measurement of all rounds, with the bounds as lines.
 *
 * @param {import('../frontier/report.mjs').Sample[]} samples @param {number[]} bounds @returns {Promise<string>}
 */
export function chartLatency(samples, bounds) {
  const top = 3 * Math.max(...bounds);
  const values = samples.map(({ mode, target, rate, ms, isSustained }) => ({
    ...{ load: MODE_TITLES[mode], target, rate, ms: Math.min(top, Math.max(ms, 0.5)) },
    kept: isSustained ? 'sustained' : 'not sustained',
  }));
  const x = {
    field: 'rate',
    type: 'quantitative',
    scale: { type: 'log', nice: false, padding: 8 },
    axis: { title: 'requests that arrive a second', format: '~s' },
  };
  const y = {
    field: 'ms',
    type: 'quantitative',
    scale: { type: 'log', nice: false, padding: 8 },
    axis: { title: 'p99 ms', values: bounds },
  };
  return renderSvg({
    data: { values },
    facet: { column: { field: 'load', sort: null, title: null } },
    spec: {
      width: 320,
      height: 240,
      mark: { type: 'point', size: 35, strokeWidth: 1.5 },
      encoding: {
        x,
        y,
        color: {
          field: 'target',
          type: 'nominal',
          sort: null,
          scale: { scheme: COLOR_SCHEME },
          legend: { title: null, orient: 'bottom', labelLimit: 300 },
        },
        shape: {
          field: 'kept',
          type: 'nominal',
          scale: { domain: ['sustained', 'not sustained'], range: ['circle', 'cross'] },
          legend: { title: null, orient: 'bottom' },
        },
      },
    },
  });
}

/** @type {Record<string, string>} */
const MODE_TITLES = { plain: 'plain requests', streamed: 'streams' };

/** @param {import('../report.mjs').Scenario} scenario */
function describeLoad({ mode, connections }) {
  return `${mode}, ${connections} ${connections === 1 ? 'connection' : 'connections'}`;
}

/** @param {object} spec in Vega-Lite's format @returns {Promise<string>} */
async function renderSvg(spec) {
  if (!existsSync(`${DIRECTORY}node_modules`)) {
    console.error('installing vega …');
    await promisify(execFile)('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: DIRECTORY });
  }
  // Names that the type checker does not follow: the packages are not installed with the others.
  const [{ View, parse }, { compile }] = await Promise.all(['vega', 'vega-lite'].map((name) => import(name)));
  const style = { background: 'white', config: { font: 'sans-serif', view: { stroke: null }, axis: { gridColor: '#eee' } } };
  return new View(parse(compile({ ...style, ...spec }).spec), { renderer: 'none' }).toSVG();
}
