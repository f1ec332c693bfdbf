import { readFileSync } from 'node:fs';
import { readSecret } from '#config/load-config.js';
import type { AwsAuth } from '#contracts/upstream-auth.js';
import { rememberToken } from '../failures/known-keys.js';
import { assertSentTo, readFileFor, readSecretFor } from '../transport/api-key.js';
import { type AuthUpstream, noCredential } from './credential.js';
import { parseMoment, readFields, refused, untilMs, usableMs } from './token-answer.js';
import type { Issued } from './token-keeper.js';
import { askForToken, type TokenAnswer } from './token-request.js';

/** Keys of AWS. Those with a session token end. */
export interface AwsKeys {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string | undefined;
}

type Kind<Name> = AuthUpstream<Extract<AwsAuth, { kind: Name }>>;

export function readKeys({ baseUrl, auth }: Kind<'aws-keys'>): AwsKeys {
  const { accessKeyId, secretAccessKey, sessionToken } = auth;
  return {
    accessKeyId: readSecretFor(baseUrl, accessKeyId),
    secretAccessKey: readSecretFor(baseUrl, secretAccessKey),
    sessionToken: sessionToken && readSecretFor(baseUrl, sessionToken),
  };
}

/** Reads one profile of a file such as `~/.aws/credentials`. Something else renews keys that end: the file is read again when it changes. */
export function readProfile({ baseUrl, auth: { file, profile = 'default' } }: Kind<'aws-profile'>): AwsKeys {
  const fields = new Map<string, string>();
  let section: string | undefined;
  for (const line of readFileFor(baseUrl, file).split('\n')) {
    const [, heading] = /^\s*\[\s*(?:profile\s+)?(.+?)\s*\]/.exec(line) ?? [];
    if (heading !== undefined) section = heading;
    const [, name = '', value = ''] = /^\s*(\w+)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (section === profile && name !== '') fields.set(name.toLowerCase(), value);
  }
  if (fields.size === 0) throw noCredential(`the file ${file} has no profile of that name`);
  return toKeys(`the file ${file}`, fields.get('aws_access_key_id'), fields.get('aws_secret_access_key'), fields.get('aws_session_token'));
}

/** Takes the role of a workload by the token that it has from its own platform. */
export async function requestRoleKeys(upstream: Kind<'aws-web-identity'>): Promise<Issued<AwsKeys>> {
  const { roleArn, file, region, tokenUrl } = upstream.auth;
  const token = readSecretFor(upstream.baseUrl, { file });
  if (tokenUrl !== undefined) assertSentTo(tokenUrl, { file });
  const body = new URLSearchParams({
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleArn: roleArn,
    RoleSessionName: 'tollgate',
    WebIdentityToken: token,
  });
  const url = tokenUrl ?? `https://sts.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}/`;
  const answer = await askForToken(upstream, { url, headers: { accept: 'application/xml' }, body });
  if (answer.status !== 200) throw refused(answer);
  const read = (name: string): string | undefined => new RegExp(`<${name}>\\s*([^<\\s]+)\\s*</${name}>`).exec(answer.text)?.[1];
  return toIssued(answer, read('AccessKeyId'), read('SecretAccessKey'), read('SessionToken'), read('Expiration'));
}

/** Addresses at which the services for containers listen in the clear: ECS, EKS, and this machine. */
const CONTAINER_HOSTS = new Set(['169.254.170.2', '169.254.170.23', '[fd00:ec2::23]', '127.0.0.1', '[::1]']);

/** Asks the service of ECS or EKS for the keys of the container's role, where the variables of AWS say. */
export async function requestContainerKeys(upstream: Kind<'aws-container'>): Promise<Issued<AwsKeys>> {
  assertSentTo(upstream.baseUrl, { service: 'AWS' });
  const relative = readSecret('AWS_CONTAINER_CREDENTIALS_RELATIVE_URI');
  const url = relative === undefined ? readSecret('AWS_CONTAINER_CREDENTIALS_FULL_URI') : `http://169.254.170.2${relative}`;
  if (url === undefined || !URL.canParse(url))
    throw noCredential('AWS_CONTAINER_CREDENTIALS_FULL_URI and …_RELATIVE_URI are not set: this is no container of ECS or EKS');
  const { protocol, hostname } = new URL(url);
  const isLocal = CONTAINER_HOSTS.has(hostname);
  if (!isLocal && protocol !== 'https:') throw noCredential('AWS_CONTAINER_CREDENTIALS_FULL_URI must begin with https://');
  const authorization = readContainerToken();
  const answer = await askForToken(upstream, { url, headers: { ...(authorization && { authorization }) }, isMetadata: isLocal });
  const { AccessKeyId, SecretAccessKey, Token, Expiration } = readFields(answer);
  return toIssued(answer, AccessKeyId, SecretAccessKey, Token, Expiration);
}

function readContainerToken(): string | undefined {
  const path = readSecret('AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE');
  try {
    const token = path === undefined ? readSecret('AWS_CONTAINER_AUTHORIZATION_TOKEN') : readFileSync(path, 'utf8').trim();
    if (token !== undefined) rememberToken(token);
    return token;
  } catch (cause) {
    throw noCredential('the file of AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE cannot be read', { cause });
  }
}

function toIssued(answer: TokenAnswer, id: unknown, secret: unknown, token: unknown, expiration: unknown): Issued<AwsKeys> {
  const endsAt = parseMoment(expiration);
  if (Number.isNaN(endsAt)) throw noCredential(`${answer.host} names no time at which its keys end`);
  return { token: toKeys(answer.host, id, secret, token), lifetimeMs: usableMs(answer.host, untilMs(answer, endsAt)) };
}

function toKeys(source: string, accessKeyId: unknown, secretAccessKey: unknown, sessionToken: unknown): AwsKeys {
  if (!isWord(accessKeyId) || !isWord(secretAccessKey) || (sessionToken !== undefined && !isWord(sessionToken)))
    throw noCredential(`${source} has no keys of AWS`);
  rememberToken(secretAccessKey);
  if (sessionToken !== undefined) rememberToken(sessionToken);
  return { accessKeyId, secretAccessKey, sessionToken };
}

function isWord(value: unknown): value is string {
  return typeof value === 'string' && /^[\x21-\x7e]{1,16384}$/.test(value);
}
