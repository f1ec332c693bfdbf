import type { Response } from 'supertest';
import { SsoProviderConfig } from '../src/identity/sso/sso-provider.config.js';
import type { PanelConfig } from '../src/panel.config.js';
import { PANEL_URL, PanelFixture, readCookie } from './panel-fixture.js';
import { CLIENT_ID, CLIENT_SECRET, TestProvider } from './test-provider.js';

/** A browser's position on its way to the provider and back. */
export interface Underway {
  /** The address that it goes to next. */
  address: URL;
  /** Value of the `cookie` header for the panel. */
  cookie: string;
}

interface SsoSettings {
  panel?: Partial<PanelConfig>;
  /** Settings of the provider `acme`. */
  provider?: Partial<SsoProviderConfig>;
  /** Further providers. */
  others?: Record<string, Partial<SsoProviderConfig>>;
}

/** The panel with a provider `acme`. */
export class SsoFixture {
  private constructor(
    readonly panel: PanelFixture,
    readonly provider: TestProvider,
  ) {}

  static async open({ panel, provider, others = {} }: SsoSettings = {}): Promise<SsoFixture> {
    const names = ['acme', ...Object.keys(others)];
    const server = await TestProvider.start(names.map((name) => `${PANEL_URL}/panel/v1/sso/${name}/callback`));
    const acme = { issuer: server.issuer, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET };
    const settings = { acme: { ...acme, label: 'Acme', ...provider }, ...others };
    const providers = Object.entries(settings).map(([name, one]) => [name, Object.assign(new SsoProviderConfig(), acme, one)] as const);
    return new SsoFixture(await PanelFixture.open(panel, new Map(providers)), server);
  }

  /** The browser clicks on a provider. */
  async start(query = '', name = 'acme'): Promise<Underway> {
    const reply = await this.panel.send(`/sso/${name}/start${query}`);
    if (reply.status !== 303) throw new Error(`${reply.status}: ${reply.text}`);
    return { address: new URL(String(reply.headers.location), PANEL_URL), cookie: readCookie(reply) };
  }

  /** The browser goes to the provider, and to the panel's callback with its answer. */
  async visit({ address, cookie }: Underway): Promise<Underway> {
    return { address: await this.provider.visit(address), cookie };
  }

  /** The browser arrives at the callback, sent by a page of the provider. */
  async arrive({ address, cookie }: Underway): Promise<Response> {
    const path = address.href.replace(`${PANEL_URL}/panel/v1`, '');
    return this.panel.send(path, { cookie, headers: { 'sec-fetch-site': 'cross-site' } });
  }

  /** The whole way. */
  async signIn(query = ''): Promise<Response> {
    return this.arrive(await this.visit(await this.start(query)));
  }

  async close(): Promise<void> {
    await this.panel.close();
    await this.provider.stop();
  }
}

/** Returns the `cookie` header with the session of a successful sign-in. */
export function readSession(reply: Response): string {
  const set = ([reply.headers['set-cookie']].flat() as (string | undefined)[]).find((line) => line?.startsWith('tollgate='));
  if (!set) throw new Error(`no session: ${reply.headers.location}`);
  return set.split(';')[0] ?? '';
}

/** Returns the failure of a sign-in, as the page shows it, with a request id. */
export function readFailure({ headers }: Response): { page: string; failure: string | null; session: boolean } {
  const { pathname, searchParams } = new URL(String(headers.location), PANEL_URL);
  if (searchParams.get('request') !== headers['x-request-id']) throw new Error(`no request id: ${headers.location}`);
  return { page: pathname, failure: searchParams.get('sso'), session: String(headers['set-cookie']).includes('tollgate=') };
}
