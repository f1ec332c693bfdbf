import { authFault } from './upstream-auth.js';
import { bodyFault } from './upstream-request.js';

const SECRET = { env: 'UPSTREAM_KEY_A' };
const APPLICATION = { tenantId: 'contoso.example', clientId: 'a' };
const KINDS =
  'header, file, command, oauth, google-service-account, google-workload-identity, google-metadata, aws-keys, aws-profile, aws-web-identity, aws-container, azure-client-secret, azure-certificate, azure-workload-identity, azure-managed-identity';

test.each<[object]>([
  [{ kind: 'header', name: 'api-key', secret: SECRET }],
  [{ kind: 'header', name: 'Authorization', secret: { file: 'a' }, scheme: 'Token' }],
  [{ kind: 'file', file: 'azure/token' }],
  [{ kind: 'command', command: 'UPSTREAM_COMMAND_LOGIN' }],
  [{ kind: 'oauth', tokenUrl: 'https://login.example/token', clientId: 'a', clientSecret: SECRET, scope: 'a b', clientAuth: 'body' }],
  [{ kind: 'google-service-account', file: 'sa.json', scope: 'https://www.googleapis.com/auth/cloud-platform' }],
  [{ kind: 'google-workload-identity', file: 'wif.json' }],
  [{ kind: 'google-metadata' }],
  [{ kind: 'aws-keys', region: 'us-gov-west-1', accessKeyId: SECRET, secretAccessKey: SECRET, sessionToken: { file: 'a' } }],
  [{ kind: 'aws-profile', region: 'us-east-1', service: 'bedrock-mantle', file: 'credentials', profile: 'a' }],
  [{ kind: 'aws-web-identity', region: 'us-east-1', roleArn: 'arn:aws-us-gov:iam::123456789012:role/a/b', file: 'token' }],
  [{ kind: 'aws-container', region: 'us-east-1' }],
  [{ kind: 'azure-client-secret', ...APPLICATION, clientSecret: SECRET }],
  [{ kind: 'azure-certificate', ...APPLICATION, file: 'a.pem' }],
  [{ kind: 'azure-workload-identity', ...APPLICATION, file: 'token', tokenUrl: 'https://login.microsoftonline.us/t/oauth2/v2.0/token' }],
  [{ kind: 'azure-managed-identity', clientId: 'a' }],
])('%j is one', (auth) => {
  expect(authFault(auth)).toBeUndefined();
});

test.each<[unknown, string]>([
  ['sk-secret', `must be a group with a kind: ${KINDS}`],
  [[], `must be a group with a kind: ${KINDS}`],
  [{}, `must have a kind: ${KINDS}`],
  [{ kind: 'constructor' }, `must have a kind: ${KINDS}`],
  [{ kind: 'file', file: 'a', key: 'sk-secret' }, 'has a field that file has not; its fields are file'],
  [{ kind: 'file' }, 'must have file for file: the name of a file in UPSTREAM_SECRETS_DIR (never the secret itself)'],
  [{ kind: 'file', file: '../a' }, 'must have the name of a file in UPSTREAM_SECRETS_DIR (never the secret itself) in file'],
  [
    { kind: 'file', file: 'kubernetes.io/serviceaccount/token' },
    'must have the name of a file in UPSTREAM_SECRETS_DIR (never the secret itself) in file',
  ],
  [
    { kind: 'header', name: 'api-key', secret: 'sk-secret' },
    'must have { env: UPSTREAM_KEY_… } or { file: … } (never the secret itself) in secret',
  ],
  [
    { kind: 'header', name: 'api-key', secret: { env: 'NATS_SEED' } },
    'must have { env: UPSTREAM_KEY_… } or { file: … } (never the secret itself) in secret',
  ],
  [{ kind: 'header', name: 'host', secret: SECRET }, 'must have the name of a header that Tollgate does not set in name'],
  [
    { kind: 'command', command: '/bin/sh -c id' },
    'must have the name of a variable such as UPSTREAM_COMMAND_LOGIN (never a command itself) in command',
  ],
  [
    { kind: 'oauth', tokenUrl: 'https://a:b@login.example', clientId: 'a', clientSecret: SECRET },
    'must have an http:// or https:// URL without credentials, query or fragment in tokenUrl',
  ],
  [{ kind: 'aws-container', region: 'us-east-1.attacker.example/' }, 'must have a region such as us-east-1 in region'],
  [{ kind: 'azure-certificate', tenantId: 'a/../b', clientId: 'a', file: 'a' }, 'must have the id or the domain of a tenant in tenantId'],
])('%j: %s', (auth, fault) => {
  expect(authFault(auth)).toBe(fault);
});

test.each<[unknown, string | undefined]>([
  [{ anthropic_version: 'vertex-2023-10-16', model: null, store: false, seed: 7 }, undefined],
  [{}, 'must be a group of 1 to 20 fields, such as anthropic_version: vertex-2023-10-16'],
  [{ model: 'other' }, 'must not have model: Tollgate sets it'],
  [{ max_tokens: 9 }, 'must not have max_tokens: Tollgate sets it'],
  [{ messages: null }, 'must not have messages: Tollgate sets it'],
  [{ 'api-key': 'sk' }, 'must not have api-key: secrets belong into headers, with env or file'],
  [{ 'a b': 1 }, 'has a name that is none of a field'],
  [{ guardrailConfig: { guardrailIdentifier: 'gr1a2b3c', guardrailVersion: '1' }, serviceTier: { type: 'flex' } }, undefined],
  [{ toolConfig: { a: 1 } }, 'must not have toolConfig: Tollgate sets it'],
  [{ inferenceConfig: { maxTokens: 9 } }, 'must not have inferenceConfig: Tollgate sets it'],
  [{ model: { a: 1 } }, 'must not have model: Tollgate sets it'],
  [{ additionalModelRequestFields: { max_tokens: 9 } }, 'must not have max_tokens: Tollgate sets it'],
  [{ a: { 'api-key': 'sk' } }, 'must not have api-key: secrets belong into headers, with env or file'],
  [{ a: { b: { c: 1 } } }, 'must have text of 1 to 1000 characters, a number, true, false or null for b'],
  [{ a: {} }, 'must have text of 1 to 1000 characters, a number, true, false or null for a'],
  [{ a: [1] }, 'must have text of 1 to 1000 characters, a number, true, false or null for a'],
  [{ a: Number.NaN }, 'must have text of 1 to 1000 characters, a number, true, false or null for a'],
])('the body %j: %s', (body, fault) => {
  expect(bodyFault(body)).toBe(fault);
});
