const OWN = /^(NATS|OPS|PANEL|TOLLGATE|POSTGRES)_|^KEY_PEPPER$|(^|_)DATABASE_(URL|PASSWORD)$|^UPSTREAM_SECRETS_DIR$/;

/**
 * True for a setting of the services of Tollgate, secrets above all. The catalog must not name one as the key of an upstream, which would
 * receive it.
 */
export function isOwnVariable(name: string): boolean {
  return OWN.test(name);
}

/** Name of an environment variable. */
export const VARIABLE_NAME = /^[A-Z_][A-Z0-9_]{0,127}$/;
/** Name of a file in the folder of secrets of the inference-proxy, without a way out of it. */
export const SECRET_FILE_NAME = /^\w[\w.-]*(\/\w[\w.-]*){0,3}$/;

/** True for an HTTP URL without credentials, query or fragment. */
export function isBaseUrl(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > 2_000 || /[\s?#]/.test(value) || !URL.canParse(value)) return false;
  const url = new URL(value);
  return (url.protocol === 'http:' || url.protocol === 'https:') && url.username === '' && url.password === '';
}
