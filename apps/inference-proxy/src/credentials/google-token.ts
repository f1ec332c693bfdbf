import { readSecret } from '#config/load-config.js';
import type { GoogleAuth } from '#contracts/upstream-auth.js';
import { SECRET_FILE_NAME } from '#contracts/upstream-rules.js';
import { rememberKey } from '../failures/known-keys.js';
import { assertSentTo, readFileFor, readSecretFor } from '../transport/api-key.js';
import { type AuthUpstream, noCredential } from './credential.js';
import { signJwt } from './jwt.js';
import { issue, parseObject, readToken } from './token-answer.js';
import type { Issued } from './token-keeper.js';
import { askForToken } from './token-request.js';

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
/** Endpoints that a file names by itself. Another one has to be declared beside the file, as a host that may get the secret. */
const OWN_HOSTS = /^https:\/\/(oauth2|sts|iamcredentials)(\.[a-z0-9-]+)*\.googleapis\.com\//;

type Kind<Name> = AuthUpstream<Extract<GoogleAuth, { kind: Name }>>;

/** Exchanges an assertion signed with the key of a service account (RFC 7523). */
export async function requestServiceAccountToken(upstream: Kind<'google-service-account'>): Promise<Issued<string>> {
  const { file, scope = SCOPE } = upstream.auth;
  const account = readConfiguration(upstream.baseUrl, file, 'service_account');
  const url = readUrl(account, 'token_uri', file);
  const key = readField(account, 'private_key', file);
  rememberKey(key);
  const now = Math.floor(Date.now() / 1_000);
  const assertion = signJwt(
    { alg: 'RS256', typ: 'JWT', kid: account.private_key_id },
    { iss: readField(account, 'client_email', file), scope, aud: url, iat: now, exp: now + 3_600 },
    key,
    file,
  );
  const body = new URLSearchParams({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion });
  return readToken(await askForToken(upstream, { url, body }));
}

/**
 * Exchanges the token that a workload has from its own platform (RFC 8693), and takes the part of a service account where the configuration
 * says so. Of the sources of that token, only a file in the folder of secrets is read.
 */
export async function requestWorkloadToken(upstream: Kind<'google-workload-identity'>): Promise<Issued<string>> {
  const { file, scope = SCOPE } = upstream.auth;
  const configuration = readConfiguration(upstream.baseUrl, file, 'external_account');
  const subject = readSubjectToken(upstream.baseUrl, configuration, file);
  const impersonation = configuration.service_account_impersonation_url;
  const body = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    audience: readField(configuration, 'audience', file),
    scope: impersonation === undefined ? scope : SCOPE,
    requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    subject_token: subject,
    subject_token_type: readField(configuration, 'subject_token_type', file),
  });
  const federated = readToken(await askForToken(upstream, { url: readUrl(configuration, 'token_url', file), body }));
  if (impersonation === undefined) return federated;
  const url = readUrl(configuration, 'service_account_impersonation_url', file);
  const headers = { authorization: `Bearer ${federated.token}` };
  return readToken(await askForToken(upstream, { url, headers, body: { scope: [scope], lifetime: '3600s' } }));
}

/** Asks the metadata server for the token of the machine's own service account. */
export async function requestMetadataToken(upstream: Kind<'google-metadata'>): Promise<Issued<string>> {
  assertSentTo(upstream.baseUrl, { service: 'GOOGLE' });
  const server = readSecret('GCE_METADATA_HOST') ?? '169.254.169.254';
  const scopes = new URLSearchParams({ scopes: upstream.auth.scope ?? SCOPE });
  const url = `http://${server}/computeMetadata/v1/instance/service-accounts/default/token?${scopes}`;
  const answer = await askForToken(upstream, { url, headers: { 'metadata-flavor': 'Google' }, isMetadata: true });
  if (answer.status === 200 && answer.headers['metadata-flavor'] !== 'Google')
    throw noCredential(`${answer.host} is no metadata server of Google`);
  return readToken(answer);
}

function readSubjectToken(baseUrl: string, { credential_source: source }: Record<string, unknown>, file: string): string {
  const { file: path, format } = (source ?? {}) as { file?: unknown; format?: { type?: unknown; subject_token_field_name?: unknown } };
  const folder = readSecret('UPSTREAM_SECRETS_DIR') ?? '/run/secrets';
  const name = typeof path === 'string' && path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : path;
  if (typeof name !== 'string' || !SECRET_FILE_NAME.test(name))
    throw noCredential(`credential_source in the file ${file} must name a file in UPSTREAM_SECRETS_DIR: no other source is read`);
  if (format?.type !== 'json') return readSecretFor(baseUrl, { file: name });
  const { subject_token_field_name: field } = format;
  const token = typeof field === 'string' ? parseObject(readFileFor(baseUrl, name))?.[field] : undefined;
  return issue({ host: `the file ${name}` }, token, Number.POSITIVE_INFINITY).token;
}

function readConfiguration(baseUrl: string, file: string, type: string): Record<string, unknown> {
  const configuration = parseObject(readFileFor(baseUrl, file));
  if (configuration?.type === type) return configuration;
  throw noCredential(`the file ${file} is no JSON file of the type ${type}`);
}

function readField(configuration: Record<string, unknown>, name: string, file: string): string {
  const value = configuration[name];
  if (typeof value === 'string' && value !== '') return value;
  throw noCredential(`the file ${file} has no ${name}`);
}

function readUrl(configuration: Record<string, unknown>, name: string, file: string): string {
  const url = readField(configuration, name, file);
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) throw noCredential(`${name} in the file ${file} is no URL`);
  if (!OWN_HOSTS.test(url)) assertSentTo(url, { file });
  return url;
}
