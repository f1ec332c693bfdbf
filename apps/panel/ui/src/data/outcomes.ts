import type { EndedRequest, TrafficOutcome } from '../../../src/shapes/overview.js';
import type { ListedEnding } from '../../../src/shapes/requests.js';

/** The result for the client: a complete reply, an error, or nothing because it had left. */
export function outcomeName({ status, code }: Pick<TrafficOutcome, 'status' | 'code'>): string {
  if (code === 'client_disconnected') return 'Client left';
  if (code === null) return status < 400 ? 'Completed' : `Status ${status}`;
  // The status was sent before the error.
  return status < 400 ? `Broke off: ${code}` : `${status} ${code}`;
}

export function outcomeTone({ status, code }: Pick<TrafficOutcome, 'status' | 'code'>): Tone {
  if (code === 'client_disconnected') return 'warn';
  if (code === null && status < 400) return 'good';
  return status >= 500 || status < 400 ? 'bad' : 'warn';
}

/** The outcome of one request, as traffic counts it. */
export function toOutcome({ status, code, outcome }: EndedRequest): Pick<TrafficOutcome, 'status' | 'code'> {
  return { status, code: code ?? (outcome === 'client-disconnected' ? 'client_disconnected' : null) };
}

/** Outcomes that are errors: all but complete replies and clients that left. */
export function isError(outcome: Pick<TrafficOutcome, 'status' | 'code'>): boolean {
  return outcome.code !== 'client_disconnected' && outcomeTone(outcome) !== 'good';
}

/** The filters that choose the requests of an outcome. */
export function outcomeFilters({ status, code }: Pick<TrafficOutcome, 'status' | 'code'>): { status: string; code?: string } {
  return { status: String(status), ...(code !== null && { code }) };
}

/** Codes that a client of the gateway can get, with their usual status. */
export const GATEWAY_CODES = {
  invalid_json: 400,
  invalid_request: 400,
  unsupported_parameter: 400,
  unsupported_content: 400,
  image_url_not_supported: 400,
  context_length_exceeded: 400,
  invalid_api_key: 401,
  insufficient_balance: 402,
  origin_not_allowed: 403,
  model_not_found: 404,
  request_too_large: 413,
  rate_limit_exceeded: 429,
  concurrency_limit: 429,
  model_capacity: 429,
  client_disconnected: 499,
  internal_error: 500,
  upstream_error: 502,
  model_unavailable: 503,
  upstream_timeout: 504,
} as const;

/** Shades of a meaning, as many as a chart has named series. */
const SHADES = 6;

/** The code that each shade is for. Codes that are missing here take what is left. */
const CODES: Record<Meaning, string[]> = {
  good: ['Completed'],
  client: ['Client left', '400 invalid_request', '400 context_length_exceeded', '404 model_not_found', '413 request_too_large'],
  refused: [
    '429 rate_limit_exceeded',
    '402 insufficient_balance',
    '429 concurrency_limit',
    '401 invalid_api_key',
    '403 origin_not_allowed',
  ],
  upstream: [
    '502 upstream_error',
    '503 model_unavailable',
    '504 upstream_timeout',
    '429 model_capacity',
    '500 internal_error',
    'Broke off: upstream_error',
  ],
};

/** Party that ended a request, by the name of its outcome: `good`, the client, a refusal of Tollgate, or an upstream. */
export function findMeaning(name: string): Meaning {
  const known = (Object.keys(CODES) as Meaning[]).find((meaning) => CODES[meaning].includes(name));
  if (known) return known;
  const status = Number(/\d{3}/.exec(name)?.[0] ?? 0);
  if (status >= 500 || status < 400) return 'upstream';
  return [401, 402, 403, 429].includes(status) ? 'refused' : 'client';
}

/** A colour of its own for each outcome: always the same one for the known, and no two alike. */
export function outcomeColours(names: string[]): Map<string, Colour> {
  const colours = new Map<string, Colour>();
  const ownShade = (name: string) => CODES[findMeaning(name)].indexOf(name);
  for (const name of names) if (ownShade(name) >= 0) colours.set(name, `${findMeaning(name)}-${ownShade(name)}`);
  for (const name of names.filter((one) => !colours.has(one)).sort()) {
    const taken = new Set(colours.values());
    const free = Array.from({ length: SHADES }, (_, shade): Colour => `${findMeaning(name)}-${shade}`).find((colour) => !taken.has(colour));
    colours.set(name, free ?? 'rest');
  }
  return colours;
}

/** Reasons of the end of a request, in words. */
export const REASONS: Record<ListedEnding, { name: string; tone: Tone; meaning: string }> = {
  completed: { name: 'Completed', tone: 'good', meaning: 'The model answered to the end.' },
  failed: { name: 'Failed', tone: 'bad', meaning: 'No upstream answered to the end. A failure before any content costs nothing.' },
  'client-disconnected': {
    name: 'Client left',
    tone: 'warn',
    meaning: 'The client closed the connection. It pays for what had been received.',
  },
  released: { name: 'Not started', tone: 'neutral', meaning: 'The request ended before an upstream was called. It costs nothing.' },
  'lease-expired': {
    name: 'Not settled in time',
    tone: 'warn',
    meaning: 'No service settled it in time, so Tollgate charged what was last counted.',
  },
  refused: { name: 'Refused', tone: 'warn', meaning: 'Tollgate refused the request. It made no hold and costs nothing.' },
};

export function reasonName(reason: string): string {
  return Object.hasOwn(REASONS, reason) ? REASONS[reason as ListedEnding].name : reason;
}

const COLOURS: Record<ListedEnding, Colour> = {
  completed: 'good-0',
  'client-disconnected': 'client-0',
  released: 'refused-0',
  failed: 'upstream-0',
  'lease-expired': 'upstream-1',
  refused: 'refused-1',
};

/** The fixed colour of each ending. */
export function reasonColours(reasons: string[]): Map<string, Colour> {
  return new Map(reasons.map((reason) => [reason, COLOURS[reason as ListedEnding] ?? 'rest']));
}

export type Tone = 'good' | 'warn' | 'bad' | 'neutral' | 'accent';

/** Number of a colour of `series.css`, a colour with a meaning such as `refused-1`, or `rest`. */
export type Colour = number | 'rest' | `${Meaning}-${number}`;
/** Outcomes whose colours say what happened. */
export type Meaning = 'good' | 'client' | 'refused' | 'upstream';
