import { connect, type NatsConnection, RequestStrategy, type ServiceInfo } from 'nats';
import { stack } from '#testing/stack.js';

const { natsUrl, natsPasswords } = stack();
const SERVICES = ['billing', 'catalog', 'gateway', 'inference-proxy'];

let operator: NatsConnection;
beforeAll(async () => {
  operator = await connect({ servers: natsUrl, user: 'cli', pass: natsPasswords.cli, inboxPrefix: '_INBOX.cli' });
});
afterAll(() => operator?.close());

/** What every service says to one verb of NATS service discovery; each of them runs once here. */
async function ask<Reply extends { name: string }>(verb: string): Promise<Reply[]> {
  const replies = await operator.requestMany(`$SRV.${verb}`, '', {
    strategy: RequestStrategy.Count,
    maxMessages: SERVICES.length,
    maxWait: 5_000,
  });
  const found: Reply[] = [];
  for await (const reply of replies) found.push(reply.json<Reply>());
  return found.sort((one, other) => one.name.localeCompare(other.name));
}

test.each(['PING', 'INFO', 'STATS'])('every service answers $SRV.%s with its name and version', async (verb) => {
  const found = await ask<{ name: string; version: string }>(verb);
  expect(found.map(({ name }) => name)).toEqual(SERVICES);
  for (const { version } of found) expect(version).toMatch(/^\d+\.\d+\.\d+$/);
});

test('each endpoint is listed with its subject, at the service that owns it', async () => {
  const found = await ask<ServiceInfo>('INFO');
  const foreign = found.flatMap(({ name, endpoints }) => {
    const subjects =
      { billing: 'billing.v1.', catalog: 'catalog.v1.', gateway: 'none', 'inference-proxy': 'inference.v1.' }[name] ?? 'none';
    return endpoints.filter(({ subject }) => !subject.startsWith(subjects)).map(({ subject }) => `${name}: ${subject}`);
  });
  expect(foreign).toEqual([]);
  expect(found.flatMap(({ endpoints }) => endpoints.map(({ subject }) => subject))).toEqual(
    expect.arrayContaining(['billing.v1.balance.get', 'billing.v1.hold.apply', 'catalog.v1.model.list', 'inference.v1.generate']),
  );
});
