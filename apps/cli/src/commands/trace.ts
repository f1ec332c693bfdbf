import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { CliCommand, Parameters, Values } from '../command.js';
import { argument, optional, text } from '../parameters.js';
import { UsageError } from '../usage-error.js';
import { type LogLine, renderTrace, selectTrace } from './trace-report.js';

const LOCAL_LOGS = '.local/logs';

const PARAMETERS = {
  requestId: argument(text(128, 'request-id'), 'the x-request-id of the reply, or that of the client'),
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
      const { requestId, logs = LOCAL_LOGS } = values as unknown as Values<typeof PARAMETERS>;
      const trace = selectTrace(await linesIn(await openInputs(logs)), requestId);
      if (trace.length === 0) throw new UsageError(`no log line of ${requestId} in ${logs}`);
      return { text: json ? JSON.stringify(trace, null, 2) : renderTrace(trace), failed: false };
    },
  },
];

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
