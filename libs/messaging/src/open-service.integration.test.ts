import { pino } from 'pino';
import { Registry } from 'prom-client';
import { ServiceConfig } from '#config/service-config.js';
import { readiness } from '#observability/readiness.js';
import { startNatsServer } from '#testing/nats-server.js';
import { eventually } from '../testing/test-services.js';
import { LocalExchange } from './local-exchange.js';
import { OWN_PROCESS, openService } from './open-service.js';

const WITHOUT_NATS = [
  { process: 'one service', host: OWN_PROCESS, missing: ['nats'] },
  { process: 'two services', host: together(['gateway', 'inference-proxy']), missing: ['nats'] },
  { process: 'all services of a request', host: together(['gateway', 'inference-proxy', 'billing', 'catalog']), missing: [] },
];

test.each(WITHOUT_NATS)('a process with $process that has lost NATS is missing $missing', async ({ host, missing }) => {
  const server = await startNatsServer();
  const service = await openService({
    ...{ name: 'billing', host, config: config(server.url), logger: pino({ level: 'silent' }), registry: new Registry() },
    checks: (nats) => [nats],
    certificates: () => [],
  });
  try {
    expect(await readiness(service.checks)).toMatchObject({ ready: true });
    await server.kill();
    await eventually(() => !service.messaging.connected);

    expect((await readiness(service.checks)).missing).toEqual(missing);
  } finally {
    await service.close({ stop: () => Promise.resolve() });
    await server.stop();
  }
});

function together(services: string[]) {
  return { ...OWN_PROCESS, exchange: new LocalExchange(), services };
}

function config(natsUrl: string): ServiceConfig {
  return Object.assign(new ServiceConfig(), { natsUrl, opsPort: 0, streamResumeMs: 0, shutdownGraceMs: 100 });
}
