const OWN = /^(NATS|OPS|TOLLGATE|POSTGRES)_|^KEY_PEPPER$|(^|_)DATABASE_(URL|PASSWORD)$|^UPSTREAM_SECRETS_DIR$/;

/**
 * True for a setting of the services of Tollgate, secrets above all. The catalog must not name one as the key of an upstream, which would
 * receive it.
 */
export function isOwnVariable(name: string): boolean {
  return OWN.test(name);
}
