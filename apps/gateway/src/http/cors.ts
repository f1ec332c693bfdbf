import type { CorsOptions } from '@nestjs/common/interfaces/external/cors-options.interface.js';

/** `*`, or origins as browsers send them, separated by commas. Empty: none. */
export const CORS_ALLOWED_ORIGINS = /^(\*|https?:\/\/[^\s/,*]+(,\s*https?:\/\/[^\s/,*]+)*)?$/;

/** Headers of replies that a script may read besides those that every browser shows. */
const EXPOSED_HEADERS = ['x-request-id', 'request-id', 'retry-after', 'x-should-retry'];
/** Seconds for which a browser may keep the answer to a preflight. */
const MAX_AGE_SECONDS = 600;

/** What browsers may do from the origins of `CORS_ALLOWED_ORIGINS`. A preflight carries no key and is answered before any guard. */
export function corsOptions(allowedOrigins: string): CorsOptions {
  return {
    origin: allowedOrigins === '*' ? '*' : allowedOrigins.split(',').map((origin) => origin.trim()),
    methods: ['GET', 'HEAD', 'POST'],
    exposedHeaders: EXPOSED_HEADERS,
    maxAge: MAX_AGE_SECONDS,
  };
}
