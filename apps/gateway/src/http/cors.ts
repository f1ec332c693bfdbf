import { RATE_LIMIT_HEADERS } from './replies/rate-limit-headers.js';
import { COST_HEADER } from './replies/reply-cost.js';

/** `none`, `*`, or origins as browsers send them, separated by commas. */
export const CORS_ALLOWED_ORIGINS = /^(none|\*|https?:\/\/[^\s/,*]+(,\s*https?:\/\/[^\s/,*]+)*)$/;

/** Reply headers that scripts may read in addition to the CORS-safelisted ones. */
const EXPOSED_HEADERS = ['x-request-id', 'request-id', 'retry-after', 'x-should-retry', COST_HEADER, ...RATE_LIMIT_HEADERS];
/** Seconds for which browsers may cache a preflight. */
const MAX_AGE_SECONDS = 600;

interface CorsOptions {
  origin: string | string[];
  methods: string[];
  exposedHeaders: string[];
  maxAge: number;
}

/** Returns Nest's CORS options, or undefined for `none`. Nest answers a preflight, which has no key, before any guard runs. */
export function corsOptions(allowedOrigins: string): CorsOptions | undefined {
  if (allowedOrigins === 'none') return undefined;
  return {
    origin: allowedOrigins === '*' ? '*' : allowedOrigins.split(',').map((origin) => origin.trim()),
    methods: ['GET', 'HEAD', 'POST'],
    exposedHeaders: EXPOSED_HEADERS,
    maxAge: MAX_AGE_SECONDS,
  };
}
