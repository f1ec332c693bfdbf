import { PANEL_URL } from '../../../test/panel-fixture.js';
import { TENANT, TenantProvider } from '../../../test/tenant-provider.js';
import { CLIENT_ID } from '../../../test/test-provider.js';
import { deriveState } from './sso-attempt.js';
import { SsoProviderConfig } from './sso-provider.config.js';
import { SsoProvider, type VouchedPerson } from './sso-provider.js';

const ATTEMPT = { secret: 'secret', returnTo: '/panel/' };
const EMAIL = 'ada@example.com';
const NO_CLAIM = 'the ID token has no xms_edov: add this optional claim to the application';

let provider: TenantProvider;
afterEach(() => provider.stop());

/** Signs in with a provider that has the address of `authority`, and these claims. */
async function redeem(authority: string, claims: Record<string, unknown>): Promise<VouchedPerson> {
  provider = await TenantProvider.start(authority);
  provider.claims = claims;
  const settings = { issuer: provider.issuerUrl(TENANT), clientId: CLIENT_ID, trustedEmailDomains: 'example.com' };
  const config = Object.assign(new SsoProviderConfig(), settings);
  const sso = new SsoProvider('acme', config, PANEL_URL, (address, options) =>
    fetch(address.replace(authority, provider.origin), options as RequestInit),
  );
  const { searchParams } = provider.visit(await sso.signInAddress(ATTEMPT, false));
  expect(searchParams.get('state')).toBe(deriveState(ATTEMPT, 'acme'));
  return sso.redeem(searchParams, ATTEMPT);
}

describe.each([
  'https://login.microsoftonline.com',
  'https://login.microsoftonline.us',
  'https://login.partner.microsoftonline.cn',
  'https://sts.windows.net',
  'https://sts.chinacloudapi.cn',
  'https://acme.ciamlogin.com',
])('at %s, an issuer of Entra ID', (authority) => {
  test('an address without xms_edov is refused, with the claim to add', async () => {
    await expect(redeem(authority, { email: EMAIL })).rejects.toMatchObject({ failure: 'unverified', reason: NO_CLAIM });
  });

  test('an address whose domain is verified counts, one whose domain is not does not', async () => {
    expect((await redeem(authority, { email: EMAIL, xms_edov: '1' })).email).toBe(EMAIL);
    await provider.stop();
    expect((await redeem(authority, { email: EMAIL, xms_edov: null })).email).toBeUndefined();
  });
});

test('an address of Entra ID outside of the list is refused without a word about the claim', async () => {
  expect((await redeem('https://login.microsoftonline.com', { email: 'ada@other.example' })).email).toBeUndefined();
});

test.each(['https://adfs.example.com', 'https://login.microsoftonline.com.example.com'])(
  'other providers need no xms_edov: %s',
  async (authority) => {
    expect((await redeem(authority, { email: EMAIL })).email).toBe(EMAIL);
  },
);
