import { loadNamedConfigs } from '#config/load-config.js';
import { PROVIDERS_PREFIX, SsoProviderConfig } from './sso-provider.config.js';

const load = (settings: Record<string, string>) =>
  loadNamedConfigs(
    SsoProviderConfig,
    PROVIDERS_PREFIX,
    Object.fromEntries(Object.entries({ CLIENT_ID: 'tollgate', ...settings }).map(([name, value]) => [`PANEL_OIDC_ACME_${name}`, value])),
  );

test('issuer and client are enough', () => {
  expect([...load({ ISSUER: 'https://id.example.com/realms/acme' })].map(([name, config]) => [name, { ...config }])).toEqual([
    [
      'acme',
      {
        issuer: 'https://id.example.com/realms/acme',
        clientId: 'tollgate',
        clientSecret: 'none',
        label: 'none',
        scope: 'openid email profile',
        groupsClaim: 'groups',
        trustedEmailDomains: 'none',
        groupRoles: 'none',
      },
    ],
  ]);
});

test.each(['http://127.0.0.1:8080/realms/acme', 'http://localhost', 'http://[::1]:9000'])(
  'the issuer %s may do without https',
  (issuer) => {
    expect(load({ ISSUER: issuer }).size).toBe(1);
  },
);

test.each([
  'http://id.example.com',
  'http://127.0.0.1.example.com',
  'https://user@id.example.com',
  'https://id.example.com?x',
  'id.example.com',
])('the issuer %s is refused', (issuer) =>
  expect(() => load({ ISSUER: issuer })).toThrow(/^PANEL_OIDC_ACME_ISSUER: must be an https address/),
);

test('a misspelt role stops the start', () => {
  const settings = { ISSUER: 'https://id.example.com', GROUP_ROLES: 'admins=root' };
  expect(() => load(settings)).toThrow(/^PANEL_OIDC_ACME_GROUP_ROLES: must be none or a list/);
});

const TENANT = '5d9f3c1e-7b3e-4a44-9a47-0c8f2f6f0a11';

test.each([
  `https://login.microsoftonline.com/${TENANT}/v2.0`,
  `https://acme.ciamlogin.com/${TENANT}/v2.0`,
  'https://adfs.example.com/adfs',
  'http://127.0.0.1:8080',
])('the addresses of %s may be trusted by domain', (issuer) => {
  const config = load({ ISSUER: issuer, TRUSTED_EMAIL_DOMAINS: 'example.com, Example.org' }).get('acme');
  expect(config?.trustedEmailDomains).toBe('example.com, Example.org');
});

test.each([
  ...['common', 'organizations', 'consumers', 'Common', 'contoso.com', '9188040d-6c67-4c5b-b112-36a304b66dad', '{tenantid}'].map(
    (tenant) => `https://login.microsoftonline.com/${tenant}/v2.0`,
  ),
  'https://login.microsoftonline.com',
  'https://LOGIN.microsoftonline.com/common/v2.0',
  'https://sts.windows.net/common',
  `https://login.microsoftonline.com/common/${TENANT}/v2.0`,
  'https://login.example.com/organizations/v2.0',
])('the issuer %s of many tenants is trusted for no address', (issuer) => {
  expect(() => load({ ISSUER: issuer, TRUSTED_EMAIL_DOMAINS: 'example.com' })).toThrow(
    /^PANEL_OIDC_ACME_TRUSTED_EMAIL_DOMAINS: needs the issuer of one tenant/,
  );
});

test.each(['*', '*.example.com', 'com', '@example.com', 'example.com;example.org', 'ada@example.com'])(
  'the domain %s is refused',
  (domain) => {
    const settings = { ISSUER: 'https://id.example.com', TRUSTED_EMAIL_DOMAINS: domain };
    expect(() => load(settings)).toThrow(/^PANEL_OIDC_ACME_TRUSTED_EMAIL_DOMAINS: must be none or domains/);
  },
);
