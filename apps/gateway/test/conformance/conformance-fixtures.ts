import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { ErrorCode } from '#inference/errors.js';
import type { StreamEvent } from '#inference/stream-event.js';

/** `requests/<name>.json`: a body and the exact result of parsing it. */
export interface GoldenRequest {
  name: string;
  body: object;
  parsed: unknown;
}

/** An entry of `refusals.json`: a change to the body of `minimal`, and the error that it causes. */
export interface Refusal {
  rule: string;
  change: object;
  code: ErrorCode;
  param?: string;
}

export function readRequests(fixtures: string): GoldenRequest[] {
  const folder = join(fixtures, 'requests');
  return readdirSync(folder)
    .sort()
    .map((file) => ({ name: basename(file, '.json'), ...readJson<Omit<GoldenRequest, 'name'>>(join(folder, file)) }));
}

export function bodyOf(requests: readonly GoldenRequest[], name: string): object {
  const request = requests.find((candidate) => candidate.name === name);
  if (request === undefined) throw new Error(`There is no fixture requests/${name}.json.`);
  return request.body;
}

/** Reads the replies of all formats and those of one format: one event per line, a blank line between batches. */
export function readReplies(fixtures: string): { name: string; batches: StreamEvent[][] }[] {
  const own = join(fixtures, 'events');
  return [join(import.meta.dirname, '__fixtures__'), ...(existsSync(own) ? [own] : [])].flatMap((folder) =>
    readdirSync(folder)
      .sort()
      .map((file) => {
        const blocks = readFileSync(join(folder, file), 'utf8').trim().split('\n\n');
        return { name: basename(file, '.events.jsonl'), batches: blocks.map((block) => block.split('\n').map((line) => JSON.parse(line))) };
      }),
  );
}

export function readJson<Value>(path: string): Value {
  return JSON.parse(readFileSync(path, 'utf8'));
}
