import { readFileSync } from 'node:fs';
import { signRequest } from './aws-signature.js';

interface Vector {
  name: string;
  method: string;
  path: string;
  query?: string;
  headers: Record<string, string>;
  body?: string;
  sessionToken?: string;
  signature: string;
}

/**
 * The signing test suite of AWS (awslabs/aws-c-auth, commit 495329c2, Apache 2.0): its requests with normalised paths, as all services but S3
 * want them. Not in it is `post-sts-header-after`, for services that get the session token unsigned.
 */
const VECTORS = JSON.parse(readFileSync(new URL('./__fixtures__/aws-signing-vectors.json', import.meta.url), 'utf8')) as Vector[];

test.each(VECTORS.map((vector) => [vector.name, vector] as const))('%s', async (_name, vector) => {
  const { method, path, query, headers, body, sessionToken, signature } = vector;
  const keys = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY', sessionToken };
  const scope = { region: 'us-east-1', service: 'service', at: new Date('2015-08-30T12:36:00Z'), hasDigestHeader: body !== undefined };
  const parts = { method, path, query: Object.fromEntries(new URLSearchParams(query)), headers, body };
  const { authorization } = await signRequest(keys, parts, scope);
  expect(authorization?.split('Signature=')).toEqual([
    expect.stringMatching(
      /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/20150830\/us-east-1\/service\/aws4_request, SignedHeaders=[a-z0-9;-]+, $/,
    ),
    signature,
  ]);
});
