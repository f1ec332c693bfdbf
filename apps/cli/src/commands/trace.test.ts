import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { collectRun } from '../../test/collect-run.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'trace-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const run = (...args: string[]) => collectRun(args, () => Promise.reject(new Error('it connects')));

const REQUEST = {
  level: 'info',
  time: '2026-11-23T10:00:01.000Z',
  service: 'gateway',
  ...{ requestId: 'req_1', clientRequestId: 'theirs 1', method: 'POST', route: '/v1/messages', status: 200 },
  ...{
    model: 'm',
    upstream: 'b',
    holdId: 'hold-1',
    reserveMs: 3.2,
    outcome: 'completed',
    totalMs: 800,
    firstContentMs: 600.5,
    settleMs: 9.5,
  },
  calls: [
    { upstream: 'a', startMs: 4, endMs: 250, failure: 'refused' },
    { upstream: 'b', startMs: 251, firstByteMs: 600, endMs: 790 },
  ],
  msg: 'request',
};
const FAILED = {
  ...{ level: 'warn', time: '2026-11-23T10:00:00.450Z', service: 'inference-proxy', requestId: 'req_1', holdId: 'hold-1' },
  ...{ upstream: 'a', kind: 'refused', detail: '503 no\u001b[2J', msg: 'upstream call failed' },
};
const RETRIED = {
  level: 'warn',
  time: '2026-11-23T10:00:00.900Z',
  service: 'billing',
  holdId: 'hold-1',
  msg: 'settlement failed: retrying',
};
const OTHER = { ...REQUEST, requestId: 'req_2', holdId: 'hold-2', clientRequestId: undefined };

test('shows the steps of a request from the logs of all services, in order', async () => {
  const line = (fields: object): string => `${JSON.stringify(fields)}\n`;
  writeFileSync(join(folder, 'gateway.log'), `starting\n${line(OTHER)}[pod/gateway] ${line(REQUEST)}`);
  writeFileSync(join(folder, 'inference-proxy.log'), line(FAILED));
  writeFileSync(join(folder, 'billing.log'), `{"requestId": torn\n${line(RETRIED)}`);
  const expected = {
    code: 0,
    err: '',
    out: [
      'req_1  POST /v1/messages  200  800 ms',
      '  clientRequestId="theirs 1" model=m upstream=b outcome=completed',
      '├─     +0 ms  gateway          request received',
      '├─   +3.2 ms  billing          hold hold-1 made',
      '├─     +4 ms  inference-proxy  generate',
      '│  ├─   +4 ms  call of a: refused after 246 ms',
      '│  ├─ +250 ms  warn: upstream call failed  upstream=a kind=refused detail="503 no\\u001b[2J"',
      '│  └─ +251 ms  call of b: answered after 539 ms',
      '├─ +600.5 ms  gateway          first content',
      '├─   +700 ms  billing          warn: settlement failed: retrying',
      '├─ +790.5 ms  billing          hold hold-1 settled in 9.5 ms',
      '└─   +800 ms  gateway          request ended',
      '',
    ].join('\n'),
  };
  expect(await run('trace', 'req_1', '--logs', folder)).toEqual(expected);
  expect(await run('trace', 'theirs 1', '--logs', folder)).toEqual(expected);
});

test('the id of a reply finds its request', async () => {
  const digits = '0190a6f07c1e70008000000000000abc';
  writeFileSync(join(folder, 'reply.log'), `${JSON.stringify({ ...REQUEST, requestId: `req_${digits}` })}\n`);
  const byReply = await run('trace', `chatcmpl-${digits}`, '--logs', join(folder, 'reply.log'));
  expect(byReply).toEqual(await run('trace', `req_${digits}`, '--logs', join(folder, 'reply.log')));
  expect(byReply.code).toBe(0);
});

test('a request without a line, and logs that are not there, are errors', async () => {
  expect(await run('trace', 'req_3', '--logs', folder)).toEqual({ code: 2, out: '', err: `error: no log line of req_3 in ${folder}\n` });
  const gone = join(folder, 'gone');
  expect(await run('trace', 'req_1', '--logs', gone)).toEqual({ code: 2, out: '', err: `error: cannot read ${gone}: ENOENT\n` });
});
