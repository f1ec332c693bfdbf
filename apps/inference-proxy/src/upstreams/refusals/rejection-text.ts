import { withoutKeys } from '../../failures/known-keys.js';
import type { UpstreamCall } from '../upstream-adapter.js';

const LENGTH_MAX = 500;
/** Characters that are searched for what must be hidden: the patterns below take quadratic time. */
const READ_MAX = 4_000;

/**
 * Returns an upstream's message for the client: on one line, at most 500 characters, with the client's name of the model, and without keys,
 * addresses and hosts.
 */
export function rejectionText(message: string, { model, request, baseUrl }: UpstreamCall): string {
  const line = withoutKeys(message)
    .replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ')
    .trim();
  // A secret that the limit would cut in two goes as a whole: none contains a space.
  let text = line.length > READ_MAX ? line.slice(0, READ_MAX).replace(/\S*$/, '') : line;
  for (const name of listNames(model)) text = replaceWord(text, name, request.model);
  for (const host of listHosts(baseUrl)) text = replaceWord(text, host, HIDDEN);
  for (const pattern of PRIVATE) text = text.replace(pattern, HIDDEN);
  return text.length > LENGTH_MAX ? `${text.slice(0, LENGTH_MAX - 1).replace(/[\ud800-\udbff]$/, '')}…` : text;
}

const HIDDEN = '…';

/** Patterns of keys, URLs and hosts. */
const PRIVATE = [
  /\bBearer\s+\S+/gi,
  /\b(?:sk|pk|gsk|xai|hf|key|tg_live|tg_child)[-_][\w*.-]{6,}/gi,
  /\b[a-z][a-z\d+.-]*:\/\/\S+/gi,
  /\[[\da-f:.]*:[\da-f:.]*\](?::\d+)?/gi,
  /\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b/g,
  /\blocalhost(?::\d+)?\b/gi,
  /(?<![\w.-])(?:[a-z\d-]+\.)*[a-z][a-z\d-]*:\d{2,5}\b/gi,
  /(?<![\w.-])(?:[a-z\d-]+\.)+(?:internal|local|lan|svc|com|net|org|io|ai|dev|cloud|cn|eu)\b(?!\.\w)/gi,
];

/** The model's name at the upstream, and its last part: `Qwen/Qwen3-8B`, `Qwen3-8B`. */
function listNames(model: string): string[] {
  return [...new Set([model, model.slice(model.lastIndexOf('/') + 1)])].filter((name) => name !== '');
}

function listHosts(baseUrl: string): string[] {
  const { host, hostname } = new URL(baseUrl);
  return [...new Set([host, hostname])];
}

/** Replaces a text where it is no part of a longer word, in any case. */
function replaceWord(text: string, word: string, by: string): string {
  const escaped = word.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
  return text.replace(new RegExp(`(?<![\\w])${escaped}(?![\\w])`, 'gi'), () => by);
}
