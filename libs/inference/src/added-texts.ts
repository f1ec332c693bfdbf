import type { OutputFormat } from './request.js';
import { replaceHalves } from './whole-characters.js';

/** Texts that the proxy adds to prompts for some upstreams. The hold counts them. */

/** Stands for the reasoning of an earlier turn where an upstream requires one and the client kept none. */
export const NO_REASONING = '(no reasoning)';

/** Returns the instruction that stands in for an output format which an upstream does not take; empty for text. It contains the word JSON. */
export function outputInstruction(output: OutputFormat): string {
  switch (output.kind) {
    case 'text':
      return '';
    case 'json-object':
      return 'Answer with one JSON object and nothing else.';
    case 'json-schema':
      return `Answer with JSON and nothing else. It must match this JSON Schema:\n${replaceHalves(JSON.stringify(output.schema))}`;
  }
}

/** Tokens of the smallest prompt that vendors cache. */
export const CACHED_PROMPT_TOKENS_MIN = 1_024;

const ACCOUNT_DIGITS = 22;

/** Returns the line that keeps the caches of accounts apart where the dialect has no field for it. `cacheKey`: base64url of the account. */
export function accountLine(cacheKey: string): string {
  return `Cache: ${cacheKey.slice(0, ACCOUNT_DIGITS)}`;
}

/** Bytes of the account's lines in a prompt: one in a tool and one in the system prompt, with their line breaks. */
export const ACCOUNT_LINES_BYTES = 2 * (accountLine('').length + ACCOUNT_DIGITS + 1);
