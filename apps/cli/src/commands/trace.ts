import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseRequestName } from '#contracts/rules/request-id.js';
import { renderFields } from '#observability/pretty-line.js';
import type { CliCommand, Parameters, Values } from '../command.js';
import { argument, optional, text } from '../parameters.js';
import { UsageError } from '../usage-error.js';

const LOCAL_LOGS = '.local/logs';

const PARAMETERS = {
  requestId: argument(
    text(128, 'request-id'),
    'the x-request-id of the reply, or that of the client; or the id in the reply, such as chatcmpl-…',
  ),
  logs: optional(text(4_096, 'path'), `a file of logs, a folder of *.log files, or - for standard input; default ${LOCAL_LOGS}`),
} satisfies Parameters;

/** Unlike all other commands, it reads logs and connects to nothing. */
export const traceCommands: readonly CliCommand[] = [
  {
    name: 'trace',
    summary: 'Show the course of one request from the logs of the services',
    parameters: PARAMETERS,
    examples: ['trace <request-id>', 'trace <request-id> --logs - < services.log'],
    async run(values, json) {
      const { requestId: given, logs = LOCAL_LOGS } = values as unknown as Values<typeof PARAMETERS>;
      const requestId = readId(given);
      const trace = selectTrace(await linesIn(await openInputs(logs)), requestId);
      if (trace.length === 0) throw new UsageError(`no log line of ${requestId} in ${logs}`);
      return { text: json ? JSON.stringify(trace, null, 2) : renderTrace(trace), failed: false };
    },
  },
];

/** The id of the request of a reply such as chatcmpl-…, which the logs do not have. A client's own id stays as it is. */
function readId(text: string): string {
  const name = parseRequestName(text);
  return name?.uuid === null ? name.requestId : text;
}

async function openInputs(logs: string): Promise<NodeJS.ReadableStream[]> {
  if (logs === '-') return [process.stdin];
  try {
    if (!(await stat(logs)).isDirectory()) return [createReadStream(logs)];
    const files = (await readdir(logs)).filter((file) => file.endsWith('.log'));
    return files.map((file) => createReadStream(join(logs, file)));
  } catch (error) {
    throw new UsageError(`cannot read ${logs}: ${(error as NodeJS.ErrnoException).code}`);
  }
}

/** Returns the JSON lines; other programs may write into the same logs. A line may follow the name of its container. */
async function linesIn(inputs: readonly NodeJS.ReadableStream[]): Promise<LogLine[]> {
  const found: LogLine[] = [];
  for (const input of inputs) {
    for await (const line of createInterface({ input })) {
      const start = line.indexOf('{');
      if (start === -1 || !/"(requestId|holdId)"/.test(line)) continue;
      try {
        found.push(JSON.parse(line.slice(start)) as LogLine);
      } catch {
        // It is no JSON.
      }
    }
  }
  return found;
}

/** A line that a service logged. */
interface LogLine {
  time: string;
  level: string;
  service: string;
  msg: string;
  requestId?: string;
  clientRequestId?: string;
  holdId?: string;
  [field: string]: unknown;
}

/** The line that the gateway writes when a request has ended. */
interface RequestLine extends LogLine {
  method?: string;
  route: string;
  status: number;
  totalMs: number;
  reserveMs?: number;
  firstContentMs?: number;
  settleMs?: number;
  /** Calls of upstreams; absent with `ACTIVITY_EVENTS=false`. */
  calls?: { upstream: string; startMs: number; firstByteMs?: number; endMs?: number; failure?: string }[];
}

/** Fields that the tree shows in their own places. */
const SHOWN = new Set(['time', 'level', 'service', 'msg', 'pid', 'hostname', 'requestId', 'holdId', 'err']);
const SHOWN_OF_REQUEST = new Set([...SHOWN, 'method', 'route', 'status', 'totalMs', 'reserveMs', 'firstContentMs', 'settleMs', 'calls']);

/** Returns the lines of one request in the order of their times: those with its id, and those with its hold. */
function selectTrace(lines: readonly LogLine[], requestId: string): LogLine[] {
  const own = lines.filter((line) => line.requestId === requestId || line.clientRequestId === requestId);
  const requests = new Set(own.map((line) => line.requestId).filter(Boolean));
  const holds = new Set(own.map(({ holdId }) => holdId).filter(Boolean));
  const selected = lines.filter((line) => requests.has(line.requestId) || holds.has(line.holdId));
  return selected.sort((one, other) => Date.parse(one.time) - Date.parse(other.time));
}

/**
 * Renders a tree for each request: its line of the gateway, below it the hops to billing and the inference-proxy, and below the
 * inference-proxy the calls of upstreams. Times are milliseconds since the request came.
 */
function renderTrace(lines: readonly LogLine[]): string {
  const roots = lines.filter(isRequest);
  if (roots.length === 0) return renderSteps(lines.map((line) => toStep(line, Date.parse(lines[0]?.time ?? '')))).join('\n');
  return roots
    .map((root) => {
      const startedAt = Date.parse(root.time) - root.totalMs;
      const others = lines.filter((line) => !isRequest(line) && (line.requestId === root.requestId || line.holdId === root.holdId));
      return [renderHead(root), ...renderSteps(listSteps(root, others, startedAt))].join('\n');
    })
    .join('\n\n');
}

interface Step {
  atMs: number;
  /** Absent below the inference-proxy. */
  service?: string;
  text: string;
  below?: Step[];
}

function isRequest(line: LogLine): line is RequestLine {
  return line.service === 'gateway' && line.msg === 'request';
}

function renderHead(root: RequestLine): string {
  return `${root.requestId}  ${root.method ?? '-'} ${root.route}  ${root.status}  ${root.totalMs} ms\n  ${renderOthers(root, SHOWN_OF_REQUEST)}`;
}

/** Steps whose times the line of the gateway has, and those of the other lines. */
function listSteps(root: RequestLine, others: readonly LogLine[], startedAt: number): Step[] {
  const { holdId = '', reserveMs, firstContentMs, totalMs, settleMs } = root;
  const step = (atMs: number | undefined, service: string, text: string): Step[] => (atMs === undefined ? [] : [{ atMs, service, text }]);
  const ofProxy = others.filter(({ service }) => service === 'inference-proxy');
  const steps = [
    ...step(0, 'gateway', 'request received'),
    ...step(reserveMs, 'billing', `hold ${holdId} made`),
    ...describeGeneration(root, ofProxy, startedAt),
    ...step(firstContentMs, 'gateway', 'first content'),
    ...step(settleMs && totalMs - settleMs, 'billing', `hold ${holdId} settled in ${settleMs} ms`),
    ...step(totalMs, 'gateway', 'request ended'),
    ...others.filter((line) => !ofProxy.includes(line)).map((line) => toStep(line, startedAt)),
  ];
  return inOrder(steps);
}

/** The hop to the inference-proxy: its lines, and the calls of upstreams. */
function describeGeneration({ calls = [] }: RequestLine, lines: readonly LogLine[], startedAt: number): Step[] {
  const below = inOrder([
    ...calls.map(({ upstream, startMs, endMs, failure }) => {
      const took = endMs === undefined ? '' : ` after ${endMs - startMs} ms`;
      return { atMs: startMs, text: `call of ${upstream}: ${failure ?? 'answered'}${took}` };
    }),
    ...lines.map((line) => ({ ...toStep(line, startedAt), service: undefined })),
  ]);
  const [first] = below;
  return first === undefined ? [] : [{ atMs: first.atMs, service: 'inference-proxy', text: 'generate', below }];
}

function inOrder(steps: readonly Step[]): Step[] {
  return steps.toSorted((one, other) => one.atMs - other.atMs);
}

function toStep(line: LogLine, startedAt: number): Step {
  const fields = renderOthers(line, SHOWN);
  const level = line.level === 'info' ? '' : `${line.level}: `;
  return { atMs: Date.parse(line.time) - startedAt, service: line.service, text: `${level}${line.msg}${fields && `  ${fields}`}` };
}

/** Renders one line for each step, those below it indented. */
function renderSteps(steps: readonly Step[]): string[] {
  const times = steps.map(({ atMs }) => `+${Math.max(0, Math.round(atMs * 10) / 10)} ms`);
  const width = Math.max(...times.map(({ length }) => length));
  const services = Math.max(...steps.map(({ service = '' }) => service.length));
  return steps.flatMap(({ service, text, below = [] }, at) => {
    const isLast = at === steps.length - 1;
    const name = service === undefined ? '' : `${service.padEnd(services)}  `;
    const head = `${isLast ? '└─' : '├─'} ${(times[at] ?? '').padStart(width)}  ${name}${text}`;
    return [head, ...(below.length > 0 ? renderSteps(below).map((line) => `${isLast ? ' ' : '│'}  ${line}`) : [])];
  });
}

/** Renders the fields that the tree shows in no other place. */
function renderOthers(line: LogLine, shown: ReadonlySet<string>): string {
  return renderFields(Object.fromEntries(Object.entries(line).filter(([name]) => !shown.has(name))));
}
