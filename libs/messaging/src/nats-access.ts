import { readFileSync } from 'node:fs';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import { type Authenticator, type ConnectionOptions, ErrorCode, NatsError, nkeyAuthenticator, nkeys } from 'nats';
import { ConfigError } from '#config/load-config.js';
import type { ServiceConfig } from '#config/service-config.js';
import { type CertificateFile, certificateFile } from '#observability/certificate-expiry.js';

/** Address of NATS, and the credentials and certificates that a connection is made with. */
export interface NatsAccess {
  /** `nats://host:port`; several are separated by commas. `tls://` requires TLS. */
  url: string;
  /** Name of the user in logs, and for the server if there is a password. */
  user: string;
  password?: string;
  /** Seed of the user's NKey, in place of a password. */
  seed?: string;
  /** File with the seed. Like those of TLS it is read at every connect, so that a new one needs no restart. */
  seedFile?: string;
  /** Authorities that may sign the server's certificate, in place of the public ones. Requires TLS. */
  caFile?: string;
  /** Client certificate with its chain. Requires TLS and `keyFile`. */
  certFile?: string;
  keyFile?: string;
}

/** Settings of a service in which `none` or nothing stands for a missing one. */
type NatsSettings = Pick<ServiceConfig, 'natsUrl' | 'natsUser'> & Partial<Record<keyof typeof OPTIONAL, string>>;

const OPTIONAL = {
  natsPassword: 'password',
  natsSeed: 'seed',
  natsSeedFile: 'seedFile',
  natsCaFile: 'caFile',
  natsCertFile: 'certFile',
  natsKeyFile: 'keyFile',
} as const satisfies Record<string, keyof NatsAccess>;

/** Returns the access that the settings of a service describe. */
export function natsAccess(settings: NatsSettings): NatsAccess {
  const given = Object.entries(OPTIONAL).flatMap(([setting, name]) => {
    const value = settings[setting as keyof typeof OPTIONAL];
    return value === undefined || value === '' || value === 'none' ? [] : [[name, value]];
  });
  return { url: settings.natsUrl, user: settings.natsUser, ...Object.fromEntries(given) };
}

/** Returns the files with certificates that connections use: those of the authorities, and our own. */
export function natsCertificates(settings: NatsSettings): CertificateFile[] {
  const { caFile, certFile } = natsAccess(settings);
  return [caFile, certFile].flatMap((path) => (path === undefined ? [] : certificateFile(path)));
}

/** @throws {ConfigError} for a file that cannot be read, a text that is no seed, and a certificate without its key. */
export function checkAccess(access: NatsAccess): void {
  const { caFile, certFile, keyFile } = access;
  if (usesKey(access)) readSeed(access);
  for (const file of [caFile, certFile, keyFile]) if (file !== undefined) readText(file);
  if ((certFile === undefined) !== (keyFile === undefined))
    throw new ConfigError('a client certificate for NATS needs its key, and a key its certificate');
}

/** Returns the options of the client. They may serve any number of connections: the client reads the files at every connect. */
export function accessOptions(access: NatsAccess): Pick<ConnectionOptions, 'servers' | 'user' | 'pass' | 'authenticator' | 'tls'> {
  const servers = access.url.split(',').map((server) => server.trim());
  const credentials = usesKey(access) ? { authenticator: signInWith(access) } : { user: access.user, pass: access.password };
  return { servers, ...credentials, tls: requiresTls(access) ? tlsOptions(access, servers) : undefined };
}

/** True when a server without TLS must be refused. */
export function requiresTls({ url, caFile, certFile }: NatsAccess): boolean {
  return caFile !== undefined || certFile !== undefined || /(^|,)\s*tls:/.test(url);
}

/** Code and message of a failed connect, of the client or of what it used. */
export function summarizeFailure(error: unknown): { code: string; message: string } {
  const { code = 'UNKNOWN', message } = error as NodeJS.ErrnoException;
  const cause = error instanceof NatsError ? error.chainedError : undefined;
  return { code, message: cause?.message ?? message };
}

/** Returns the reason of a failed connect in one line. */
export function describeFailure({ code, message }: { code: string; message: string }, access: NatsAccess): string {
  if (isAuthenticationFailure(code)) {
    const reason = usesKey(access) ? 'the server does not know its key' : 'wrong user or password';
    return `NATS authentication failed for user "${access.user}": ${reason}`;
  }
  if (code === ErrorCode.ConnectionRefused) return 'connection to NATS refused: no server at this address';
  if (code === ErrorCode.ServerOptionNotAvailable) return 'the NATS server offers no TLS, which the settings require';
  if (code === ErrorCode.Timeout && access.certFile !== undefined)
    return 'no answer from NATS: it may refuse the client certificate, which ends the connection without an error';
  if (code === ErrorCode.Tls) return `TLS with NATS failed: ${message}`;
  if (/CERT|SIGNATURE/.test(code)) return `the certificate of the NATS server is not accepted: ${message}`;
  return `no connection to NATS: ${code}`;
}

/** True when the server refused the user, so that a command need not try again. */
export function isAuthenticationFailure(code: string): boolean {
  return code === ErrorCode.AuthorizationViolation || code === ErrorCode.AuthenticationExpired || code === ErrorCode.AuthenticationTimeout;
}

function usesKey({ seed, seedFile }: NatsAccess): boolean {
  return seed !== undefined || seedFile !== undefined;
}

function signInWith(access: NatsAccess): Authenticator {
  let seed: Uint8Array | undefined;
  const sign = nkeyAuthenticator(() => seed as Uint8Array);
  return (nonce) => {
    try {
      seed = readSeed(access);
    } catch {
      // An error would close the connection permanently; the last seed may still be valid.
    }
    return seed && sign(nonce);
  };
}

function readSeed({ user, seed, seedFile }: NatsAccess): Uint8Array {
  const text = Buffer.from((seed ?? readText(seedFile as string)).trim());
  try {
    nkeys.fromSeed(text);
  } catch {
    throw new ConfigError(`the seed of NATS user "${user}" is not the seed of an NKey`);
  }
  return text;
}

function tlsOptions({ caFile, certFile, keyFile }: NatsAccess, servers: string[]): ConnectionOptions['tls'] {
  const hosts = servers.map(parseHost);
  const options = {
    caFile,
    certFile,
    keyFile,
    // By itself the client expects the name `localhost` of a server at an address.
    checkServerIdentity: (_name: string, certificate: PeerCertificate): Error | undefined => {
      const faults = hosts.map((host) => checkServerIdentity(host, certificate));
      return faults.includes(undefined) ? undefined : faults[0];
    },
  };
  return options;
}

/** Host of a server with or without a scheme, such as `nats://user:secret@10.0.0.1:4222` or `nats`. */
function parseHost(server: string): string {
  const url = server.includes('://') ? server : `nats://${server}`;
  return URL.canParse(url) ? new URL(url).hostname.replace(/^\[|\]$/g, '') : server;
}

/** @throws {ConfigError} with the path and the error code. */
function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigError(`cannot read ${file}: ${(error as NodeJS.ErrnoException).code}`);
  }
}
