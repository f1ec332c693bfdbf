import { randomUUID } from 'node:crypto';
import { defaultResource, detectResources, envDetector, type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import { VERSION } from '#config/version.js';

/** Id of this process, the same in its traces and its metrics. */
const INSTANCE_ID = randomUUID();

/** Returns the resource of a service. `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` win over our own values. */
export function otlpResource(service: string): Resource {
  const own = { 'service.name': `tollgate-${service}`, 'service.version': VERSION, 'service.instance.id': INSTANCE_ID };
  return defaultResource()
    .merge(resourceFromAttributes(own))
    .merge(detectResources({ detectors: [envDetector] }));
}
