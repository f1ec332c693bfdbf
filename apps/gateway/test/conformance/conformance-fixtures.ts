import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { ErrorCode } from '#inference/errors.js';
import type { StreamEvent } from '#inference/stream-event.js';
import { readArchives } from '#testing/text-archive.js';

/** `<name>.json` in the archives of `requests`: a body and the exact result of parsing it. */
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
  const files = [...readArchives(join(fixtures, 'requests'))];
  return files.map(([file, json]) => ({ name: basename(file, '.json'), ...JSON.parse(json.toString()) }));
}

export function findBody(requests: readonly GoldenRequest[], name: string): object {
  const request = requests.find((candidate) => candidate.name === name);
  if (request === undefined) throw new Error(`There is no ${name}.json in the archives of requests.`);
  return request.body;
}

/** Reads the replies of all formats and those of one format: one event per line, a blank line between batches. */
export function readReplies(fixtures: string): { name: string; batches: StreamEvent[][] }[] {
  const own = join(fixtures, 'events');
  return [join(import.meta.dirname, '__fixtures__'), ...(existsSync(own) ? [own] : [])].flatMap((folder) =>
    [...readArchives(folder)].map(([file, events]) => {
      const blocks = events.toString().trim().split('\n\n');
      return { name: basename(file, '.events.jsonl'), batches: blocks.map((block) => block.split('\n').map((line) => JSON.parse(line))) };
    }),
  );
}

export function readJson<Value>(path: string): Value {
  return JSON.parse(readFileSync(path, 'utf8'));
}
