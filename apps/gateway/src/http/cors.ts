/** `none`, `*`, or origins as browsers send them, separated by commas. */
export const CORS_ALLOWED_ORIGINS = /^(none|\*|https?:\/\/[^\s/,*]+(,\s*https?:\/\/[^\s/,*]+)*)$/;

/** Headers of replies that a script may read besides those that every browser shows. */
const EXPOSED_HEADERS = ['x-request-id', 'request-id', 'retry-after', 'x-should-retry'];
/** Seconds for which a browser may keep the answer to a preflight. */
const MAX_AGE_SECONDS = 600;

interface CorsOptions {
  origin: string | string[];
  methods: string[];
  exposedHeaders: string[];
  maxAge: number;
}

/**
 * What browsers may do from `allowedOrigins`, as the framework's own CORS takes it; undefined for `none`. A preflight carries no key and is
 * answered before any guard.
 */
export function corsOptions(allowedOrigins: string): CorsOptions | undefined {
  if (allowedOrigins === 'none') return undefined;
  return {
    origin: allowedOrigins === '*' ? '*' : allowedOrigins.split(',').map((origin) => origin.trim()),
    methods: ['GET', 'HEAD', 'POST'],
    exposedHeaders: EXPOSED_HEADERS,
    maxAge: MAX_AGE_SECONDS,
  };
}
