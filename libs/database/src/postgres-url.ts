import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { ValidateBy } from 'class-validator';
import { type CertificateFile, certificateFile } from '#observability/certificate-expiry.js';

/** Scheme and user, hosts, and the rest with path and parameters. */
const FORM = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]*)(.*)$/s;
const TLS_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'];
/** Modes that `pg` reads differently from libpq unless it is asked not to: it checks certificate and host name in each. */
const LIBPQ_MODES = new Set(['require', 'verify-ca', 'verify-full']);
/** Value of `sslrootcert` for the authorities that Node trusts. */
const SYSTEM = 'system';

/**
 * Returns a URL for each host of `postgres://user:password@one:5432,two:5432/name`, in order. Each is for `pg`, which knows one host, and
 * has libpq's meaning of `sslmode`.
 */
export function serverUrls(url: string): string[] {
  const [, start, hosts, end] = FORM.exec(url) ?? [];
  if (start === undefined || hosts === undefined || end === undefined) return [url];
  return hosts.split(',').map((host) => `${start}${host}${withLibpqModes(end)}`);
}

/** Returns the fault of a `DATABASE_URL`, without any part of it, or undefined. */
export function findUrlFault(url: string): string | undefined {
  const [, , , end] = FORM.exec(url) ?? [];
  if (end === undefined) return 'must be a postgres:// URL';
  const parameters = parseParameters(end);
  const mode = parameters.get('sslmode');
  const authorities = parameters.get('sslrootcert');
  if (mode !== null && !TLS_MODES.includes(mode)) return `sslmode must be one of ${TLS_MODES.join(', ')}`;
  if (authorities === SYSTEM) return mode === 'verify-full' ? undefined : 'sslrootcert=system needs sslmode=verify-full';
  if (authorities !== null) return hasCertificate(authorities) ? undefined : 'sslrootcert must be a readable file with certificates';
  return mode === 'verify-ca' ? 'sslmode=verify-ca needs sslrootcert, the file of the certificate authority' : undefined;
}

/** Returns the file with the authorities that connections trust, if the URL names one. */
export function postgresCertificates(url: string): CertificateFile[] {
  const [, , , end = ''] = FORM.exec(url) ?? [];
  const authorities = parseParameters(end).get('sslrootcert');
  return authorities === null || authorities === SYSTEM ? [] : [certificateFile(authorities)];
}

/** Rule of a setting: `postgres://`, with libpq's parameters for several hosts and TLS. */
export function IsPostgresUrl(): PropertyDecorator {
  const fault = (value: unknown): string | undefined => findUrlFault(String(value));
  return ValidateBy({
    name: 'isPostgresUrl',
    validator: { validate: (value) => fault(value) === undefined, defaultMessage: (validation) => fault(validation?.value) ?? '' },
  });
}

function withLibpqModes(end: string): string {
  const parameters = parseParameters(end);
  if (!LIBPQ_MODES.has(parameters.get('sslmode') ?? '')) return end;
  parameters.set('uselibpqcompat', 'true');
  if (parameters.get('sslrootcert') === SYSTEM) parameters.delete('sslrootcert');
  return `${end.slice(0, end.indexOf('?'))}?${parameters}`;
}

function parseParameters(end: string): URLSearchParams {
  const mark = end.indexOf('?');
  return new URLSearchParams(mark < 0 ? '' : end.slice(mark + 1));
}

function hasCertificate(file: string): boolean {
  try {
    return new X509Certificate(readFileSync(file)).subject !== undefined;
  } catch {
    return false;
  }
}
