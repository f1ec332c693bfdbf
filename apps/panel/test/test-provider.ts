import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider, { type Context } from 'oidc-provider';
import { createMemoryAdapter } from 'oidc-provider/lib/adapters/memory_adapter.js';

export const CLIENT_ID = 'tollgate';
/** A client that is not told when people typed their password, unless it asks. */
export const QUIET_CLIENT_ID = 'quiet';
export const CLIENT_SECRET = 'the secret of the client';

/** Claims of a person at the provider, besides `sub`. */
interface Claims {
  email?: string;
  email_verified?: boolean;
  name?: string;
  groups?: unknown;
}

/** An OpenID Connect provider that signs in a person without asking them. */
export class TestProvider {
  /** The subject that signs in, and their claims. */
  subject = 'ada';
  claims: Claims = {};
  /** Seconds since 1970 at which the person typed their password. Undefined: at this sign-in. */
  authenticatedAt: number | undefined;

  private constructor(
    readonly issuer: string,
    private readonly server: Server,
  ) {}

  /** `redirectUris`: the addresses to which it sends browsers. */
  static async start(redirectUris: readonly string[]): Promise<TestProvider> {
    const listener: { current?: RequestListener } = {};
    const server = await listen((request, response) => listener.current?.(request, response));
    const { port } = server.address() as AddressInfo;
    const test = new TestProvider(`http://127.0.0.1:${port}`, server);
    const provider = new Provider(test.issuer, test.configuration(redirectUris));
    const callback = provider.callback();
    listener.current = (request, response) => {
      const login = { accountId: test.subject, ts: test.authenticatedAt };
      if (request.url?.startsWith('/interaction/')) void provider.interactionFinished(request, response, { login });
      else void callback(request, response);
    };
    return test;
  }

  private configuration(redirectUris: readonly string[]): object {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    return {
      clients: [CLIENT_ID, QUIET_CLIENT_ID].map((id) => ({
        ...{ client_id: id, client_secret: CLIENT_SECRET, redirect_uris: redirectUris, require_auth_time: id === CLIENT_ID },
      })),
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'groups'] },
      findAccount: (_context: Context, subject: string) => ({ accountId: subject, claims: () => ({ sub: subject, ...this.claims }) }),
      loadExistingGrant: async ({ oidc }: Context) => {
        const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
        grant.addOIDCScope('openid email profile');
        await grant.save();
        return grant;
      },
      pkce: { required: () => true },
      // The defaults are the same; the provider would print a warning for each.
      adapter: createMemoryAdapter(0),
      ttl: { AccessToken: 600, AuthorizationCode: 60, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
      features: { devInteractions: { enabled: false } },
      cookies: { keys: ['a key of the test'] },
      jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256' }] },
    };
  }

  /** Opens an address as a new browser, and follows its redirects until they leave the provider. Returns the address they lead to. */
  async visit(address: URL): Promise<URL> {
    const cookies = new Map<string, string>();
    for (let next = address; ; ) {
      if (next.origin !== this.issuer) return next;
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const response = await fetch(next, { redirect: 'manual', headers: { cookie } });
      const location = response.headers.get('location');
      if (location === null) throw new Error(`the provider answers ${response.status}: ${await response.text()}`);
      for (const line of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
        cookies.set(name, value);
      }
      next = new URL(location, next);
    }
  }

  /** Stops answering. */
  async stop(): Promise<void> {
    await close(this.server);
  }
}

export async function listen(listener: RequestListener): Promise<Server> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

export async function close(server: Server): Promise<void> {
  if (!server.listening) return;
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
}
