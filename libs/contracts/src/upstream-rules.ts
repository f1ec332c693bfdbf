/** Variables of the inference-proxy with the keys of upstreams begin with it. No setting of a service does. */
export const KEY_PREFIX = 'UPSTREAM_KEY_';

/**
 * Name of a variable of the inference-proxy that holds the key of an upstream. The catalog may name no other variable, because the upstream
 * receives its value. The variable with `_HOSTS` at its end names the hosts that may receive the key.
 */
export const KEY_VARIABLE = /^UPSTREAM_KEY_(?![A-Z0-9_]*_HOSTS$)[A-Z0-9_]{1,100}$/;

/**
 * Name of a file in the folder of secrets of the inference-proxy, without a way out of it. The catalog may name no token of Kubernetes, and
 * none of the files with the hosts that may receive a secret.
 */
export const SECRET_FILE_NAME = /^(?!(.*\/)?kubernetes\.io(\/|$))(?!.*\.hosts$)\w[\w.-]*(\/\w[\w.-]*){0,3}$/;

/** True for an HTTP URL without credentials, query or fragment. */
export function isBaseUrl(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > 2_000 || /[\s?#]/.test(value) || !URL.canParse(value)) return false;
  const url = new URL(value);
  return (url.protocol === 'http:' || url.protocol === 'https:') && url.username === '' && url.password === '';
}

/** True for `off`, or the address of a forward proxy without credentials. */
export function isUpstreamProxy(value: unknown): value is string {
  return value === 'off' || (isBaseUrl(value) && new URL(value).pathname === '/');
}

export const UPSTREAM_PROXY_RULE = 'must be off, or a forward proxy without credentials such as http://proxy.example.com:3128';
