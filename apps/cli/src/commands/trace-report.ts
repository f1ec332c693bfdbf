import { renderFields } from '#observability/pretty-line.js';

/** A line that a service logged. */
export interface LogLine {
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
export function selectTrace(lines: readonly LogLine[], requestId: string): LogLine[] {
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
export function renderTrace(lines: readonly LogLine[]): string {
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
