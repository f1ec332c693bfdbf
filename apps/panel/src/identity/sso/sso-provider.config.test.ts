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
