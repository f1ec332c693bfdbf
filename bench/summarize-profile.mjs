/**
 * Summarizes a V8 CPU profile: self time by function, and by package or file.
 *
 *   node bench/summarize-profile.mjs FILE.cpuprofile [--from SECONDS] [--rows N]
 *
 * `--from` skips the start, in which a process loads its modules.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { from: { type: 'string', default: '0' }, rows: { type: 'string', default: '25' } },
});
const [file] = positionals;
if (!file) throw new Error('usage: summarize-profile.mjs FILE.cpuprofile [--from SECONDS] [--rows N]');

/** @type {{ nodes: { id: number, callFrame: { functionName: string, url: string, lineNumber: number } }[], samples: number[], timeDeltas: number[] }} */
const profile = JSON.parse(readFileSync(file, 'utf8'));
const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]));
const byFunction = new Map();
const byPlace = new Map();
let busy = 0;
let idle = 0;
let elapsed = 0;

for (const [index, id] of profile.samples.entries()) {
  const frame = frames.get(id);
  const time = profile.timeDeltas[index] ?? 0;
  elapsed += time;
  if (!frame || time < 0 || elapsed < Number(flags.from) * 1e6) continue;
  if (frame.functionName === '(idle)') {
    idle += time;
    continue;
  }
  busy += time;
  const place = describePlace(frame.url) || frame.functionName;
  add(byPlace, place, time);
  add(byFunction, `${frame.functionName || '(anonymous)'} ${place}${frame.url ? `:${frame.lineNumber + 1}` : ''}`, time);
}

console.log(`busy ${(busy / 1e6).toFixed(1)} s, idle ${(idle / 1e6).toFixed(1)} s\n`);
for (const [title, table] of /** @type {const} */ ([
  ['by place', byPlace],
  ['by function', byFunction],
])) {
  console.log(`${title}:`);
  const sorted = [...table].sort((a, b) => b[1] - a[1]).slice(0, Number(flags.rows));
  for (const [name, time] of sorted) console.log(`${((100 * time) / busy).toFixed(1).padStart(6)} %  ${name}`);
  console.log();
}

/** Returns the package, the file in `dist/`, or the built-in module. @param {string} url */
function describePlace(url) {
  const installed = /node_modules\/((?:@[^/]+\/)?[^/]+)(?!.*node_modules\/)/.exec(url);
  if (installed) return installed[1];
  return url.replace(/^file:\/\/.*\/(?=(?:dist|bench)\/)/, '');
}

/** @param {Map<string, number>} table @param {string} key @param {number} time */
function add(table, key, time) {
  table.set(key, (table.get(key) ?? 0) + time);
}
