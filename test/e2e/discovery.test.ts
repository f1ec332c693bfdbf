import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { connect, type NatsConnection, RequestStrategy, type ServiceInfo } from 'nats';
import { stack } from '#testing/stack.js';

const { natsUrl, natsPasswords, opsUrls, gatewayUrl } = stack();
const { version: VERSION } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
const SERVICES = ['billing', 'catalog', 'gateway', 'inference-proxy'] as const;

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
  expect(new Set(found.map(({ version }) => version))).toEqual(new Set([VERSION]));
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

test('the one version is that of every process, command and document', async () => {
  const metricsOf = async (service: (typeof SERVICES)[number]): Promise<string> => (await fetch(`${opsUrls[service]}/metrics`)).text();
  const metrics = await Promise.all(SERVICES.map(metricsOf));
  const inMetrics = metrics.map((text) => /^tollgate_build_info\{version="([^"]*)",/m.exec(text)?.[1]);
  const commands = ['cli', 'upstream-sim', ...SERVICES].map((app) => {
    const { status, stdout } = spawnSync(process.execPath, [`dist/apps/${app}/src/main.js`, '--version'], { encoding: 'utf8', env: {} });
    return { status, stdout };
  });
  const served = (await (await fetch(`${gatewayUrl}/openapi.json`)).json()) as { info: { version: string } };
  const asyncApi = /^ {2}version: (.*)$/m.exec(readFileSync('docs/asyncapi.yaml', 'utf8'))?.[1];
  expect({ inMetrics, commands, openApi: served.info.version, asyncApi }).toEqual({
    inMetrics: SERVICES.map(() => VERSION),
    commands: commands.map(() => ({ status: 0, stdout: `${VERSION}\n` })),
    openApi: VERSION,
    asyncApi: VERSION,
  });
});
