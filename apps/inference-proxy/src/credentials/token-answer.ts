import { rememberToken, withoutKeys } from '../failures/known-keys.js';
import type { UpstreamFailure } from '../failures/upstream-failure.js';
import { noCredential } from './credential.js';
import type { Issued } from './token-keeper.js';
import type { TokenAnswer } from './token-request.js';

const TOKEN_LENGTH_MAX = 32 * 1024;
/** A token that says nothing about its end. */
const LIFETIME_MS_DEFAULT = 600_000;
const LIFETIME_MS_MAX = 24 * 3_600_000;
/** A shorter one would be renewed without end. */
const LIFETIME_MS_MIN = 10_000;
/** Difference of two clocks that is worth a word. */
const SKEW_MS = 30_000;

/** Returns the token of an OAuth 2.0 answer (RFC 6749, section 5.1), also in the forms of Google's and Microsoft's services. */
export function readToken(answer: TokenAnswer): Issued<string> {
  const fields = readFields(answer);
  const { token_type: type } = fields;
  if (type !== undefined && (typeof type !== 'string' || !/^bearer$/i.test(type)))
    throw noCredential(`${answer.host} issues no bearer token`);
  return issue(answer, fields.access_token ?? fields.accessToken, readLifetimeMs(answer, fields));
}

/** Returns a usable token. Throws for one that no header can carry, and for one that has ended. */
export function issue({ host }: Pick<TokenAnswer, 'host'>, token: unknown, lifetimeMs: number): Issued<string> {
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token) || token.length > TOKEN_LENGTH_MAX)
    throw noCredential(`${host} issues no token that a header can carry`);
  rememberToken(token);
  return { token, lifetimeMs: usableMs(host, lifetimeMs) };
}

/** Returns a lifetime that can be worked with. */
export function usableMs(host: string, lifetimeMs: number): number {
  if (lifetimeMs < LIFETIME_MS_MIN)
    throw noCredential(`${host} issues a token that ${lifetimeMs <= 0 ? 'has ended already' : `ends within ${LIFETIME_MS_MIN / 1_000} s`}`);
  return Math.min(lifetimeMs, LIFETIME_MS_MAX);
}

/** Returns the fields of a good answer. Throws for any other, with what the endpoint says. */
export function readFields(answer: TokenAnswer): Record<string, unknown> {
  if (answer.status !== 200) throw refused(answer);
  return parseObject(answer.text) ?? fail(`${answer.host} answers with something else than a JSON object`);
}

/** Returns the Unix milliseconds of a moment as text; NaN for any other value. */
export function parseMoment(value: unknown): number {
  return typeof value === 'string' ? Date.parse(value) : Number.NaN;
}

/** Milliseconds until a moment that the endpoint names, by its own clock if it tells: ours may be wrong. */
export function untilMs({ headers }: Pick<TokenAnswer, 'headers'>, moment: number): number {
  const theirs = Date.parse(headers.date ?? '');
  return moment - (Number.isNaN(theirs) ? Date.now() : theirs);
}

/** Describes an answer that is no token: the status, the endpoint's code and its words as far as they may be shown. */
export function refused(answer: TokenAnswer): UpstreamFailure {
  const { host, status } = answer;
  if (status >= 300 && status < 400) return noCredential(`${host} redirects (${status}), which is not followed`);
  const { code, words } = readError(answer.text);
  const said = [status, code].filter((part) => part !== undefined && part !== '').join(' ');
  const isPassing = status === 429 || status >= 500;
  return noCredential(`${host} refuses (${said})${words === '' ? '' : `: ${words}`}${describeSkew(answer)}`, { isPassing });
}

function describeSkew({ headers }: TokenAnswer): string {
  const theirs = Date.parse(headers.date ?? '');
  const skewMs = Number.isNaN(theirs) ? 0 : theirs - Date.now();
  if (Math.abs(skewMs) < SKEW_MS) return '';
  return `. Its clock is ${Math.round(Math.abs(skewMs) / 1_000)} s ${skewMs > 0 ? 'ahead of' : 'behind'} ours: set the clock here`;
}

/** Reads the errors of OAuth (`error` a word), of Google and Azure's metadata (`error` an object) and of AWS (XML, or `Code`). */
function readError(text: string): { code: string; words: string } {
  const fields = parseObject(text);
  const inner = typeof fields?.error === 'object' ? (fields.error as Record<string, unknown>) : fields;
  const [, xmlCode] = /<Code>([^<]{1,100})<\/Code>/.exec(text) ?? [];
  const [, xmlWords] = /<Message>([^<]{1,500})<\/Message>/.exec(text) ?? [];
  const code = fields?.error ?? xmlCode;
  const named = typeof code === 'string' ? code : (inner?.status ?? inner?.code ?? inner?.Code);
  const isWord = typeof named === 'string' && /^[A-Za-z_.]{1,60}$/.test(named);
  return {
    code: isWord ? withoutKeys(named) : quotable(named, 40),
    words: quotable(inner?.error_description ?? inner?.message ?? inner?.Message ?? xmlWords, 120),
  };
}

/** Returns the beginning of a foreign text without all that may be a secret: known keys, and each word that is as long as one. */
function quotable(value: unknown, lengthMax: number): string {
  if (typeof value !== 'string' && typeof value !== 'number') return '';
  const clean = withoutKeys(String(value).slice(0, 4_000))
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .replace(/[\w.~+/=%-]{20,}/g, '…')
    .trim();
  return clean.length > lengthMax ? `${clean.slice(0, lengthMax)}…` : clean;
}

/** `expires_in` in seconds, `expires_on` in Unix seconds, both also as text, or `expireTime`. */
function readLifetimeMs(answer: TokenAnswer, { expires_in: within, expires_on: on, expireTime }: Record<string, unknown>): number {
  if (within !== undefined) return toNumber(answer, within) * 1_000;
  if (on !== undefined) return untilMs(answer, toNumber(answer, on) * 1_000);
  return expireTime === undefined ? LIFETIME_MS_DEFAULT : untilMs(answer, toNumber(answer, parseMoment(expireTime)));
}

function toNumber({ host }: TokenAnswer, value: unknown): number {
  const number = typeof value === 'string' ? Number.parseFloat(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : fail(`${host} names an end of the token that is no time`);
}

export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function fail(detail: string): never {
  throw noCredential(detail);
}
