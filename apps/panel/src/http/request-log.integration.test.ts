import { PASSWORD, PanelFixture } from '../../test/panel-fixture.js';

const panel = await PanelFixture.open({ trustedProxyHops: 1 });
const admin = await panel.person('admin');
afterAll(() => panel.close());

test.each([
  ['an address', '6.6.6.6, 203.0.113.9', '203.0.113.9'],
  ['an address with a port', '203.0.113.9:4711', '203.0.113.9'],
  ['an IPv6 address with a port', '[2001:db8::1]:4711', '2001:db8::1'],
  ['no address', 'unknown', 'unknown'],
  ['nothing', undefined, 'unknown'],
])('journal, session and log have the address of a client whose proxy writes %s [sec-forwarded-address]', async (_name, forwarded, ip) => {
  const headers: Record<string, string> = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
  const { email } = admin;
  const reply = await panel.send('/session', { method: 'POST', body: { email, password: PASSWORD }, headers });
  const requestId = reply.headers['x-request-id'] as string;
  const [journal, session] = await Promise.all([
    panel.prisma.panelAudit.findMany({ where: { requestId }, select: { action: true, ip: true } }),
    panel.prisma.panelSession.findFirst({ orderBy: { createdAt: 'desc' }, select: { address: true } }),
  ]);
  expect({ status: reply.status, journal, session, log: panel.log.find((line) => line.requestId === requestId) }).toMatchObject({
    status: 201,
    journal: [{ action: 'session.start', ip }],
    session: { address: ip },
    log: { clientAddress: ip },
  });
});
