import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';
import type { AwsKeys } from './aws-keys.js';
import type { HeaderFields } from './credential.js';

export interface SignedParts {
  method: string;
  /** As it is sent. */
  path: string;
  query: Readonly<Record<string, string>>;
  /** Headers to sign; `host` is one of them. */
  headers: HeaderFields;
  body?: string | Buffer | undefined;
}

export interface SigningScope {
  region: string;
  service: string;
  at: Date;
  /** False: the digest of the body is signed, but stands in no header of its own. */
  hasDigestHeader?: boolean;
}

/** Signs a request with Signature Version 4. Returns `parts.headers` and those that the signature adds. */
export async function signRequest(keys: AwsKeys, parts: SignedParts, scope: SigningScope): Promise<HeaderFields> {
  // Loaded when a catalog needs it first: it takes 13 MB.
  const { SignatureV4 } = await import('@smithy/signature-v4');
  const { region, service, at, hasDigestHeader: applyChecksum = true } = scope;
  const signer = new SignatureV4({ region, service, credentials: keys, sha256: Sha256, applyChecksum });
  const { headers } = await signer.sign(
    { protocol: 'https:', hostname: '', ...parts, query: { ...parts.query }, headers: { ...parts.headers } },
    { signingDate: at },
  );
  return headers;
}

/** SHA-256 of Node for the library; an HMAC with a secret. */
class Sha256 {
  private readonly digester: Hash | Hmac;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.digester = secret === undefined ? createHash('sha256') : createHmac('sha256', secret as Buffer);
  }

  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.digester.update(data as Buffer);
  }

  async digest(): Promise<Uint8Array> {
    return this.digester.digest();
  }

  reset(): void {}
}
