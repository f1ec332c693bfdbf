import type { UpstreamFailure } from '../failures/upstream-failure.js';
import { type AuthUpstream, type Credential, type CredentialObserver, credentialFailure, type HeaderFields } from './credential.js';
import type { TokenKeeper } from './token-keeper.js';

/** A secret that is read anew for each request, without waiting. */
export class FixedCredential implements Credential {
  readonly isUsable = true;

  constructor(
    private readonly upstream: AuthUpstream,
    private readonly read: () => HeaderFields,
    private readonly onChange: CredentialObserver,
  ) {}

  authorize(): HeaderFields {
    try {
      return this.read();
    } catch (error) {
      throw credentialFailure(this.upstream, error);
    }
  }

  async renew(): Promise<boolean> {
    return false;
  }

  start(): void {
    Promise.resolve()
      .then(() => this.authorize())
      .catch((failure: UpstreamFailure) => this.onChange(failure));
  }

  close(): void {}
}

/** A token in the header `authorization`. */
export class BearerCredential implements Credential {
  constructor(private readonly keeper: TokenKeeper<string>) {}

  get isUsable(): boolean {
    return this.keeper.isUsable;
  }

  authorize(): HeaderFields | Promise<HeaderFields> {
    const token = this.keeper.get();
    return typeof token === 'string' ? bearer(token) : token.then(bearer);
  }

  async renew({ status }: { status: number }, { authorization = '' }: HeaderFields): Promise<boolean> {
    return status === 401 && this.keeper.renew(authorization.slice(SCHEME.length));
  }

  start(): void {
    this.keeper.refresh().catch(() => {});
  }

  close(): void {
    this.keeper.close();
  }
}

const SCHEME = 'Bearer ';

function bearer(token: string): HeaderFields {
  return { authorization: SCHEME + token };
}
