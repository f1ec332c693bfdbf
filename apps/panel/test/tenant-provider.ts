import { generateKeyPairSync, sign } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CLIENT_ID, close, listen } from './test-provider.js';

export const TENANT = '5d9f3c1e-7b3e-4a44-9a47-0c8f2f6f0a11';

/**
 * A provider of many tenants that signs for all of them with one key, and writes into ID tokens what the test says, as Entra ID does with
 * the `mail` of a person that the admins of a tenant have set.
 */
export class TenantProvider {
  /** Claims of the next ID token, besides `nonce` and the times. */
  claims: Record<string, unknown> = {};
  /** Claims of the userinfo endpoint, besides `sub`. */
  userinfo: Record<string, unknown> = {};
  private readonly keys = generateKeyPairSync('rsa', { modulusLength: 2048 });
  private readonly nonces = new Map<string, string>();

  private constructor(
    private readonly server: Server,
    private readonly authority: string | undefined,
  ) {}

  /** `authority`: the address that it says to have, such as that of Entra ID. Default: `origin`. */
  static async start(authority?: string): Promise<TenantProvider> {
    const listener: { current?: TenantProvider } = {};
    const server = await listen((request, response) => listener.current?.answer(request, response));
    listener.current = new TenantProvider(server, authority);
    return listener.current;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  issuerUrl(tenant: string): string {
    return `${this.authority ?? this.origin}/${tenant}/v2.0`;
  }

  /** Signs in without asking. Returns the address to which the browser goes back. */
  visit(address: URL): URL {
    const { redirect_uri: back = '', state = '', nonce = '' } = Object.fromEntries(address.searchParams);
    const code = String(this.nonces.size);
    this.nonces.set(code, nonce);
    return new URL(`${back}?${new URLSearchParams({ code, state })}`);
  }

  async stop(): Promise<void> {
    await close(this.server);
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat(await request.toArray()).toString();
    const reply = this.replyTo(request.url ?? '', new URLSearchParams(body));
    response.writeHead(reply ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(reply ?? {}));
  }

  private replyTo(path: string, form: URLSearchParams): object | undefined {
    const base = this.issuerUrl(TENANT);
    switch (path.replace(new URL(base).pathname, '')) {
      case '/.well-known/openid-configuration':
        return {
          issuer: base,
          authorization_endpoint: `${base}/authorize`,
          token_endpoint: `${base}/token`,
          jwks_uri: `${base}/keys`,
          userinfo_endpoint: `${base}/userinfo`,
          id_token_signing_alg_values_supported: ['RS256'],
        };
      case '/keys':
        return { keys: [{ ...this.keys.publicKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'one' }] };
      case '/userinfo':
        return { sub: this.claims.sub ?? 'ada', ...this.userinfo };
      case '/token':
        return { access_token: 'x', token_type: 'Bearer', id_token: this.idToken(this.nonces.get(form.get('code') ?? '')) };
      default:
        return undefined;
    }
  }

  private idToken(nonce: string | undefined): string {
    const now = Math.floor(Date.now() / 1_000);
    const usual = { iss: this.issuerUrl(TENANT), aud: CLIENT_ID, sub: 'ada', tid: TENANT, iat: now, exp: now + 600, auth_time: now, nonce };
    const parts = [
      { alg: 'RS256', kid: 'one', typ: 'JWT' },
      { ...usual, ...this.claims },
    ];
    const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
    return `${text}.${sign('sha256', Buffer.from(text), this.keys.privateKey).toString('base64url')}`;
  }
}
