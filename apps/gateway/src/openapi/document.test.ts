import { readFileSync } from 'node:fs';
import { RequestMethod } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { Registry } from 'prom-client';
import { createLogger } from '#observability/logger.js';
import { FakeServices } from '#testing/fake-services.js';
import { GatewayConfig } from '../gateway.config.js';
import { gatewayModule } from '../gateway.module.js';
import { openApiDocument } from './document.js';

const document = openApiDocument() as { paths: Record<string, Record<string, { operationId: string }>> };

test('docs/openapi.json is current: node scripts/openapi.ts', () => {
  expect(JSON.parse(readFileSync('docs/openapi.json', 'utf8'))).toEqual(document);
});

test('every controller method and every probe has an operation, and there is no other', () => {
  const documented = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(documented.length).toBeGreaterThan(8);
  expect(documented.sort()).toEqual([...routedByControllers(), 'GET /', 'GET /livez', 'GET /readyz'].sort());
});

/** Returns the routes of all controllers, from their decorators' metadata. */
function routedByControllers(): string[] {
  const { controllers = [] } = gatewayModule({
    config: new GatewayConfig(),
    logger: createLogger('test', 'silent'),
    registry: new Registry(),
    messaging: new FakeServices().messaging,
  });
  return controllers.flatMap(({ prototype }) =>
    Object.values(Object.getOwnPropertyDescriptors(prototype)).flatMap(({ value: handler }) => {
      const path = Reflect.getMetadata(PATH_METADATA, handler) as string | undefined;
      const method = Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod | undefined;
      return path === undefined || method === undefined ? [] : [`${RequestMethod[method]} ${path.replace(/:(\w+)/g, '{$1}')}`];
    }),
  );
}
