const OWN = /^(NATS|OPS|TOLLGATE|POSTGRES)_|^KEY_PEPPER$|(^|_)DATABASE_(URL|PASSWORD)$|^UPSTREAM_SECRETS_DIR$/;

/**
 * Whether a variable is a setting of Tollgate's own services, secrets above all. An upstream whose key it were would be sent it, so
 * the catalog refuses to name it as one, and the inference-proxy to read it.
 */
export function isOwnVariable(name: string): boolean {
  return OWN.test(name);
}
