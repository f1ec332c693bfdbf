import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { connect, RequestStrategy } from 'nats';
import { stack } from '#testing/stack.js';

const { natsUrl, natsPasswords, opsUrls, gatewayUrl } = stack();
const { version: VERSION } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
/** Written by the build; absent without git. */
const COMMIT = existsSync('dist/commit') ? readFileSync('dist/commit', 'utf8').trim() : '';
const SERVICES = ['billing', 'catalog', 'gateway', 'inference-proxy', 'panel'] as const;

const operator = await connect({ servers: natsUrl, user: 'cli', pass: natsPasswords.cli, inboxPrefix: '_INBOX.cli' });
afterAll(() => operator.close());

/** Replies of all services to a verb of NATS service discovery. Each service has one replica here. */
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

test('$SRV.INFO has the commit and the Node of each service', async () => {
  const found = await ask<{ name: string; metadata: object }>('INFO');
  expect(found.map(({ metadata }) => metadata)).toEqual(SERVICES.map(() => ({ commit: COMMIT, node: process.version })));
});

test('every process, command and document has the same version, every process and command the same commit', async () => {
  const fetchMetrics = async (service: (typeof SERVICES)[number]): Promise<string> => (await fetch(`${opsUrls[service]}/metrics`)).text();
  const metrics = await Promise.all(SERVICES.map(fetchMetrics));
  const inMetrics = metrics.map((text) => /^tollgate_build_info\{(.*)\} 1$/m.exec(text)?.[1]);
  const commands = ['cli', 'upstream-sim', ...SERVICES].map((app) => {
    const { status, stdout } = spawnSync(process.execPath, [`dist/apps/${app}/src/main.js`, '--version'], { encoding: 'utf8', env: {} });
    return { status, stdout };
  });
  const served = (await (await fetch(`${gatewayUrl}/openapi.json`)).json()) as { info: { version: string } };
  const asyncApi = /^ {2}version: (.*)$/m.exec(readFileSync('docs/asyncapi.yaml', 'utf8'))?.[1];
  expect({ inMetrics, commands, openApi: served.info.version, asyncApi }).toEqual({
    inMetrics: SERVICES.map(() => `version="${VERSION}",commit="${COMMIT}",node="${process.version}"`),
    commands: commands.map(() => ({ status: 0, stdout: `${VERSION} (${COMMIT && `commit ${COMMIT}, `}Node ${process.version})\n` })),
    openApi: VERSION,
    asyncApi: VERSION,
  });
});
