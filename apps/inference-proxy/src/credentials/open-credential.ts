import type { Upstream } from '#contracts/catalog.js';
import type { UpstreamAuth } from '#contracts/upstream-auth.js';
import { readSecretFor } from '../transport/api-key.js';
import { AwsCredential } from './aws-credential.js';
import { readKeys, readProfile, requestContainerKeys, requestRoleKeys } from './aws-keys.js';
import {
  requestCertificateToken,
  requestClientSecretToken,
  requestWorkloadToken as requestEntraToken,
  requestManagedToken,
} from './azure-token.js';
import { runTokenCommand } from './command-token.js';
import { type AuthUpstream, type Credential, type CredentialObserver, credentialFailure } from './credential.js';
import { requestMetadataToken, requestServiceAccountToken, requestWorkloadToken } from './google-token.js';
import { BearerCredential, FixedCredential } from './header-credential.js';
import { requestOauthToken } from './oauth-token.js';
import { type Issued, TokenKeeper } from './token-keeper.js';

/** Returns the credential of an upstream with `auth`; undefined for one with a fixed key or none. Nothing is asked for before its first use. */
export function openCredential(upstream: Upstream, onChange: CredentialObserver): Credential | undefined {
  const { auth } = upstream;
  return auth == null ? undefined : openAs(auth, upstream as AuthUpstream, onChange);
}

function openAs(auth: UpstreamAuth, upstream: AuthUpstream, onChange: CredentialObserver): Credential {
  const { baseUrl } = upstream;
  const keep = <Token>(issue: () => Promise<Issued<Token>>): TokenKeeper<Token> =>
    new TokenKeeper(async () => {
      try {
        return await issue();
      } catch (error) {
        throw credentialFailure(upstream, error);
      }
    }, onChange);
  const bearer = (issue: () => Promise<Issued<string>>): Credential => new BearerCredential(keep(issue));
  switch (auth.kind) {
    case 'header': {
      const { name, secret, scheme } = auth;
      const prefix = scheme === undefined ? '' : `${scheme} `;
      return new FixedCredential(upstream, () => ({ [name.toLowerCase()]: prefix + readSecretFor(baseUrl, secret) }), onChange);
    }
    case 'file':
      return new FixedCredential(upstream, () => ({ authorization: `Bearer ${readSecretFor(baseUrl, { file: auth.file })}` }), onChange);
    case 'command':
      return bearer(() => runTokenCommand({ ...upstream, auth }));
    case 'oauth':
      return bearer(() => requestOauthToken({ ...upstream, auth }));
    case 'google-service-account':
      return bearer(() => requestServiceAccountToken({ ...upstream, auth }));
    case 'google-workload-identity':
      return bearer(() => requestWorkloadToken({ ...upstream, auth }));
    case 'google-metadata':
      return bearer(() => requestMetadataToken({ ...upstream, auth }));
    case 'azure-client-secret':
      return bearer(() => requestClientSecretToken({ ...upstream, auth }));
    case 'azure-certificate':
      return bearer(() => requestCertificateToken({ ...upstream, auth }));
    case 'azure-workload-identity':
      return bearer(() => requestEntraToken({ ...upstream, auth }));
    case 'azure-managed-identity':
      return bearer(() => requestManagedToken({ ...upstream, auth }));
    case 'aws-keys':
      return new AwsCredential({ ...upstream, auth }, () => readKeys({ ...upstream, auth }), onChange);
    case 'aws-profile':
      return new AwsCredential({ ...upstream, auth }, () => readProfile({ ...upstream, auth }), onChange);
    case 'aws-web-identity':
      return new AwsCredential(
        { ...upstream, auth },
        keep(() => requestRoleKeys({ ...upstream, auth })),
        onChange,
      );
    case 'aws-container':
      return new AwsCredential(
        { ...upstream, auth },
        keep(() => requestContainerKeys({ ...upstream, auth })),
        onChange,
      );
  }
}
