import { ConnectProxy } from '#testing/connect-proxy.js';
import { readFailure, readSession, SsoFixture } from '../../../test/sso-fixture.js';

let proxy: ConnectProxy;
let sso: SsoFixture | undefined;

beforeEach(async () => {
  proxy = await ConnectProxy.start({ credentials: 'ada:secret' });
});
afterEach(async () => {
  await sso?.close();
  await proxy.stop();
});

async function open(credentials: string, noProxy = 'none'): Promise<SsoFixture> {
  sso = await SsoFixture.open({ panel: { httpProxy: proxy.url.replace('//', `//${credentials}@`), noProxy } });
  return sso;
}

test('discovery, keys and tokens of a provider come through the forward proxy', async () => {
  const fixture = await open('ada:secret');
  const { email } = await fixture.panel.person('admin');
  fixture.provider.claims = { email, email_verified: true };
  expect(readSession(await fixture.signIn())).toMatch(/^tollgate=/);
  expect([...new Set(proxy.asked)]).toEqual([new URL(fixture.provider.issuer).host]);
});

test('NO_PROXY names providers that are asked directly', async () => {
  const fixture = await open('ada:wrong', '127.0.0.1');
  expect((await fixture.start()).address.origin).toBe(fixture.provider.issuer);
  expect(proxy.asked).toEqual([]);
});

test('a proxy that refuses is named in the log, without its credentials', async () => {
  const { panel } = await open('ada:wrong-secret');
  const reply = await panel.send('/sso/acme/start');
  expect(readFailure(reply)).toEqual({ page: '/panel/', failure: 'unavailable', session: false });
  const reason = `forward proxy 127.0.0.1:${proxy.port} does not accept our credentials: check those in HTTP_PROXY (407)`;
  expect(panel.log.filter(({ msg }) => msg === 'sign-in with a provider failed').map(({ reason: said }) => said)).toEqual([reason]);
  expect(JSON.stringify(panel.log)).not.toMatch(/wrong-secret/);
});
