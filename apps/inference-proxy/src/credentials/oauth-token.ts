import type { OauthAuth } from '#contracts/upstream-auth.js';
import { rememberKey } from '../failures/known-keys.js';
import { readSecretFor } from '../transport/api-key.js';
import type { AuthUpstream } from './credential.js';
import { readToken } from './token-answer.js';
import type { Issued } from './token-keeper.js';
import { askForToken } from './token-request.js';

/** Gets a token for client credentials. The secret goes to `tokenUrl`, and the token to the upstream: its owner has to declare both hosts. */
export async function requestOauthToken(upstream: AuthUpstream<OauthAuth>): Promise<Issued<string>> {
  const { tokenUrl, clientId, clientSecret, scope, audience, clientAuth = 'basic' } = upstream.auth;
  readSecretFor(upstream.baseUrl, clientSecret);
  const secret = readSecretFor(tokenUrl, clientSecret);
  const body = new URLSearchParams({ grant_type: 'client_credentials' });
  if (scope !== undefined) body.set('scope', scope);
  if (audience !== undefined) body.set('audience', audience);
  if (clientAuth === 'body') {
    body.set('client_id', clientId);
    body.set('client_secret', secret);
  }
  const headers = { ...(clientAuth === 'basic' && { authorization: `Basic ${encodeBasic(clientId, secret)}` }) };
  rememberKey(formEncode(secret)); // the endpoint may repeat it as it got it
  return readToken(await askForToken(upstream, { url: tokenUrl, headers, body }));
}

/** RFC 6749, section 2.3.1: both are encoded as in a form before they are joined. */
function encodeBasic(clientId: string, secret: string): string {
  const encoded = Buffer.from(`${formEncode(clientId)}:${formEncode(secret)}`).toString('base64');
  rememberKey(encoded);
  return encoded;
}

export function formEncode(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1);
}
