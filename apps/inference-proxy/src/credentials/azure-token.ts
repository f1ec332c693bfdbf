import { createHash, randomUUID, X509Certificate } from 'node:crypto';
import { readSecret } from '#config/load-config.js';
import type { AzureAuth, EntraApplication } from '#contracts/upstream-auth.js';
import type { SecretSource } from '#contracts/upstream-request.js';
import { rememberKey } from '../failures/known-keys.js';
import { assertSentTo, readFileFor, readSecretFor } from '../transport/api-key.js';
import { type AuthUpstream, noCredential } from './credential.js';
import { signJwt } from './jwt.js';
import { formEncode } from './oauth-token.js';
import { readToken } from './token-answer.js';
import type { Issued } from './token-keeper.js';
import { askForToken } from './token-request.js';

const SCOPE = 'https://cognitiveservices.azure.com/.default';
const ASSERTION_SECONDS = 600;

type Kind<Name> = AuthUpstream<Extract<AzureAuth, { kind: Name }>>;

export async function requestClientSecretToken(upstream: Kind<'azure-client-secret'>): Promise<Issued<string>> {
  const { clientSecret, tokenUrl } = upstream.auth;
  const secret = readSecretFor(upstream.baseUrl, clientSecret);
  assertEndpoint(tokenUrl, clientSecret);
  rememberKey(formEncode(secret));
  return requestToken(upstream, { client_secret: secret });
}

/** Signs an assertion with the key of a certificate that the application has. */
export async function requestCertificateToken(upstream: Kind<'azure-certificate'>): Promise<Issued<string>> {
  const { clientId, file, tokenUrl } = upstream.auth;
  const pem = readFileFor(upstream.baseUrl, file);
  assertEndpoint(tokenUrl, { file });
  const now = Math.floor(Date.now() / 1_000);
  const claims = {
    ...{ aud: findEndpoint(upstream.auth), iss: clientId, sub: clientId, jti: randomUUID() },
    ...{ nbf: now, exp: now + ASSERTION_SECONDS },
  };
  const key = findKey(pem);
  const header = { alg: 'PS256', typ: 'JWT', 'x5t#S256': readThumbprint(pem, file) } as const;
  return requestAssertedToken(upstream, signJwt(header, claims, key, file));
}

/** Hands on the token that a workload has from its own platform. */
export async function requestWorkloadToken(upstream: Kind<'azure-workload-identity'>): Promise<Issued<string>> {
  const { file, tokenUrl } = upstream.auth;
  const assertion = readSecretFor(upstream.baseUrl, { file });
  assertEndpoint(tokenUrl, { file });
  return requestAssertedToken(upstream, assertion);
}

/** Asks the machine for its own token: where Azure runs containers and functions, or at the metadata service of virtual machines. */
export async function requestManagedToken(upstream: Kind<'azure-managed-identity'>): Promise<Issued<string>> {
  const { clientId, scope = SCOPE } = upstream.auth;
  assertSentTo(upstream.baseUrl, { service: 'AZURE' });
  const [endpoint, secret] = [readSecret('IDENTITY_ENDPOINT'), readSecret('IDENTITY_HEADER')];
  const query = (version: string): string =>
    `?${new URLSearchParams({
      'api-version': version,
      resource: scope.replace(/\/\.default$/, ''),
      ...(clientId !== undefined && { client_id: clientId }),
    })}`;
  if (endpoint !== undefined && secret !== undefined) {
    rememberKey(secret);
    const headers = { 'x-identity-header': secret };
    return readToken(await askForToken(upstream, { url: endpoint + query('2019-08-01'), headers, isMetadata: true }));
  }
  const server = readSecret('AZURE_POD_IDENTITY_AUTHORITY_HOST') ?? 'http://169.254.169.254';
  const url = `${server}/metadata/identity/oauth2/token${query('2018-02-01')}`;
  return readToken(await askForToken(upstream, { url, headers: { metadata: 'true' }, isMetadata: true }));
}

type Application = AuthUpstream<EntraApplication & { scope?: string; kind: AzureAuth['kind'] }>;

function requestAssertedToken(upstream: Application, assertion: string): Promise<Issued<string>> {
  const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
  return requestToken(upstream, { client_assertion_type, client_assertion: assertion });
}

async function requestToken(upstream: Application, proof: Record<string, string>): Promise<Issued<string>> {
  const { clientId, scope = SCOPE } = upstream.auth;
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: clientId, scope, ...proof });
  return readToken(await askForToken(upstream as AuthUpstream, { url: findEndpoint(upstream.auth), body }));
}

function findEndpoint({ tenantId, tokenUrl }: EntraApplication): string {
  return tokenUrl ?? `https://login.microsoftonline.com/${tenantId}/oauth2/v2.0/token`;
}

/** The catalog may name another endpoint only if the owner of the secret has declared its host. */
function assertEndpoint(tokenUrl: string | undefined, source: SecretSource): void {
  if (tokenUrl !== undefined) assertSentTo(tokenUrl, 'file' in source ? source : { variable: source.env });
}

function readThumbprint(pem: string, file: string): string {
  try {
    return createHash('sha256').update(new X509Certificate(pem).raw).digest('base64url');
  } catch (cause) {
    throw noCredential(`no certificate in the file ${file}: it has to be in PEM, with its key`, { cause });
  }
}

/** Returns the private key in a file that has a certificate too. */
function findKey(pem: string): string {
  const [key = ''] = /-----BEGIN ([A-Z ]*)PRIVATE KEY-----[\s\S]+?-----END \1PRIVATE KEY-----/.exec(pem) ?? [];
  rememberKey(key);
  return key;
}
