import type { AwsAuth } from '#contracts/upstream-auth.js';
import type { UpstreamFailure } from '../failures/upstream-failure.js';
import type { AwsKeys } from './aws-keys.js';
import { signRequest } from './aws-signature.js';
import {
  type AuthUpstream,
  type Credential,
  type CredentialObserver,
  credentialFailure,
  type HeaderFields,
  type Rejection,
  type UnsignedRequest,
} from './credential.js';
import type { TokenKeeper } from './token-keeper.js';

/** Keys that are read anew for each request, or kept and renewed ahead of their end. */
export type KeySource = (() => AwsKeys) | TokenKeeper<AwsKeys>;

/** Difference of the clocks from which AWS may refuse a signature; it refuses beyond five minutes. */
const SKEW_MS = 60_000;
/** Errors that say that other keys may help. */
const KEYS_REFUSED = /^(ExpiredToken|UnrecognizedClient|InvalidClientTokenId|InvalidSecurity)/;

/** Signs each request with Signature Version 4. */
export class AwsCredential implements Credential {
  /** Their clock less ours, after a request that they found too old or too new. */
  private skewMs = 0;
  /** The keys of requests under way, by the headers that they made. */
  private readonly usedKeys = new WeakMap<HeaderFields, AwsKeys>();

  constructor(
    private readonly upstream: AuthUpstream<AwsAuth>,
    private readonly keys: KeySource,
    private readonly onChange: CredentialObserver,
  ) {}

  get isUsable(): boolean {
    return typeof this.keys === 'function' || this.keys.isUsable;
  }

  async authorize({ method, path, headers, body }: UnsignedRequest): Promise<HeaderFields> {
    const keys = await this.read();
    const { region, service = 'bedrock' } = this.upstream.auth;
    const [pathname = '', search] = path.split('?');
    const parts = {
      ...{ method, path: pathname, query: Object.fromEntries(new URLSearchParams(search)), body },
      // The others may be added or changed on the way.
      headers: {
        host: new URL(this.upstream.baseUrl).host,
        ...(headers['content-type'] !== undefined && { 'content-type': headers['content-type'] }),
      },
    };
    const signed = await signRequest(keys, parts, { region, service, at: new Date(Date.now() + this.skewMs) });
    const { host: _, 'content-type': __, ...added } = signed;
    this.usedKeys.set(added, keys);
    return added;
  }

  async renew(rejection: Rejection, used: HeaderFields): Promise<boolean> {
    const error = rejection.header('x-amzn-errortype') ?? '';
    const theirs = Date.parse(rejection.header('date') ?? '');
    const skewMs = Number.isNaN(theirs) ? 0 : theirs - Date.now();
    if (Math.abs(skewMs - this.skewMs) > SKEW_MS) {
      this.skewMs = skewMs;
      return true;
    }
    const keys = this.usedKeys.get(used);
    return typeof this.keys !== 'function' && keys !== undefined && KEYS_REFUSED.test(error) && this.keys.renew(keys);
  }

  start(): void {
    if (typeof this.keys !== 'function') this.keys.refresh().catch(() => {});
    else this.read().catch((failure: UpstreamFailure) => this.onChange(failure));
  }

  close(): void {
    if (typeof this.keys !== 'function') this.keys.close();
  }

  private async read(): Promise<AwsKeys> {
    if (typeof this.keys !== 'function') return this.keys.get();
    try {
      return this.keys();
    } catch (error) {
      throw credentialFailure(this.upstream, error);
    }
  }
}
