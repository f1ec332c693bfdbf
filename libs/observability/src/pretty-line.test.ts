import { pino } from 'pino';
import { isoTime } from './logger.js';
import { prettyLine } from './pretty-line.js';

/** Logs as the services do, and returns the pretty lines. The time of day is replaced. */
function logged(log: (logger: pino.Logger) => void): string[] {
  const lines: string[] = [];
  const formatters = { level: (level: string) => ({ level }) };
  const options = { base: { service: 'gateway' }, timestamp: isoTime, formatters };
  log(pino(options, { write: (line: string) => void lines.push(prettyLine(line).replace(/^\d\d:\d\d:\d\d\.\d{3} /, 'TIME ')) }));
  return lines;
}

test('a line has its time, level, service, message and fields', () => {
  const lines = logged((logger) => {
    logger.info({ requestId: 'req_1', status: 200, userAgent: 'an agent', usage: { promptTokens: 1 }, gone: undefined }, 'request');
    logger.warn('service stopping');
  });
  expect(lines).toEqual([
    'TIME INFO  gateway  request  requestId=req_1 status=200 userAgent="an agent" usage={"promptTokens":1}\n',
    'TIME WARN  gateway  service stopping\n',
  ]);
});

test('the stack of an error stands below its line', () => {
  const error = Object.assign(new Error('refused'), { stack: 'Error: refused\n    at connect' });
  expect(logged((logger) => logger.error({ err: error, status: 500 }, 'request'))).toEqual([
    'TIME ERROR gateway  request  status=500\n    Error: refused\n        at connect\n',
  ]);
});

test('control characters of clients do not reach the terminal', () => {
  const lines = logged((logger) => logger.info({ detail: '\u009b2J', err: { message: 'a\u001b[2Jb' } }, 'bad\u0007'));
  expect(lines).toEqual(['TIME INFO  gateway  bad\ufffd  detail="\ufffd2J"\n    a\ufffd[2Jb\n']);
});
