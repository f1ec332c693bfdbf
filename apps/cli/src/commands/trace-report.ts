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
}

/** Fields that the tree shows in their own places. */
const SHOWN = new Set(['time', 'level', 'service', 'msg', 'pid', 'hostname', 'requestId', 'holdId', 'err']);
const SHOWN_OF_REQUEST = new Set([...SHOWN, 'method', 'route', 'status', 'totalMs', 'reserveMs', 'firstContentMs']);

/** Returns the lines of one request in the order of their times: those with its id, and those with its hold. */
export function selectTrace(lines: readonly LogLine[], requestId: string): LogLine[] {
  const own = lines.filter((line) => line.requestId === requestId || line.clientRequestId === requestId);
  const requests = new Set(own.map((line) => line.requestId).filter(Boolean));
  const holds = new Set(own.map(({ holdId }) => holdId).filter(Boolean));
  const selected = lines.filter((line) => requests.has(line.requestId) || holds.has(line.holdId));
  return selected.sort((one, other) => Date.parse(one.time) - Date.parse(other.time));
}

/** Renders a tree for each request: its line of the gateway, and below it each step with the milliseconds since the request came. */
export function renderTrace(lines: readonly LogLine[]): string {
  const roots = lines.filter(isRequest);
  if (roots.length === 0) return renderSteps(lines.map((line) => stepOf(line, Date.parse(lines[0]?.time ?? ''))));
  return roots
    .map((root) => {
      const startedAt = Date.parse(root.time) - root.totalMs;
      const others = lines.filter((line) => !isRequest(line) && (line.requestId === root.requestId || line.holdId === root.holdId));
      const steps = [...stepsOf(root), ...others.map((line) => stepOf(line, startedAt))].sort((one, other) => one.atMs - other.atMs);
      return `${headOf(root)}\n${renderSteps(steps)}`;
    })
    .join('\n\n');
}

interface Step {
  atMs: number;
  service: string;
  text: string;
}

function isRequest(line: LogLine): line is RequestLine {
  return line.service === 'gateway' && line.msg === 'request';
}

function headOf(root: RequestLine): string {
  return `${root.requestId}  ${root.method ?? '-'} ${root.route}  ${root.status}  ${root.totalMs} ms\n  ${renderOthers(root, SHOWN_OF_REQUEST)}`;
}

/** Steps whose times the line of the gateway has. */
function stepsOf({ holdId, reserveMs, firstContentMs, totalMs }: RequestLine): Step[] {
  const step = (atMs: number | undefined, text: string): Step[] => (atMs === undefined ? [] : [{ atMs, service: 'gateway', text }]);
  return [
    ...step(0, 'request received'),
    ...step(reserveMs, `hold ${holdId ?? ''} made`),
    ...step(firstContentMs, 'first content'),
    ...step(totalMs, 'request ended'),
  ];
}

function stepOf(line: LogLine, startedAt: number): Step {
  const fields = renderOthers(line, SHOWN);
  const level = line.level === 'info' ? '' : `${line.level}: `;
  return { atMs: Date.parse(line.time) - startedAt, service: line.service, text: `${level}${line.msg}${fields && `  ${fields}`}` };
}

function renderSteps(steps: readonly Step[]): string {
  const times = steps.map(({ atMs }) => `+${Math.max(0, Math.round(atMs * 10) / 10)} ms`);
  const width = Math.max(...times.map(({ length }) => length));
  const services = Math.max(...steps.map(({ service }) => service.length));
  return steps
    .map(({ service, text }, at) => {
      const branch = at === steps.length - 1 ? '└─' : '├─';
      return `${branch} ${(times[at] ?? '').padStart(width)}  ${service.padEnd(services)}  ${text}`;
    })
    .join('\n');
}

/** Renders the fields that the tree shows in no other place. */
function renderOthers(line: LogLine, shown: ReadonlySet<string>): string {
  return renderFields(Object.fromEntries(Object.entries(line).filter(([name]) => !shown.has(name))));
}
