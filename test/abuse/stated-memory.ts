import { BillingConfig } from '../../apps/billing/src/billing.config.js';
import { GatewayConfig } from '../../apps/gateway/src/gateway.config.js';
import { InferenceProxyConfig } from '../../apps/inference-proxy/src/inference-proxy.config.js';
import { BODIES_BYTES_MAX, PROOFS_BYTES_MAX } from '../../apps/panel/src/http/body-reader.js';
import { PanelConfig } from '../../apps/panel/src/panel.config.js';

const MB = 1e6;
const KB = 1e3;
const MIB = 1024 * 1024;

type Measured = 'gateway' | 'inference-proxy' | 'billing' | 'catalog' | 'panel' | 'tollgate' | 'nats';

/** Limit of resident memory of each program in bytes, computed from its settings as in docs/deployment.md. */
export function statedMemory(
  gateway: GatewayConfig = new GatewayConfig(),
  proxy: InferenceProxyConfig = new InferenceProxyConfig(),
  billing: BillingConfig = new BillingConfig(),
  panel: PanelConfig = new PanelConfig(),
): Record<Measured, number> {
  const thread = (gateway.bodyWorkerHeapMb + 16) * MIB + 6 * gateway.bodyBytesMax;
  const keys = 2 * gateway.keyCacheEntriesMax * 0.5 * KB;
  const services = {
    gateway: 200 * MB + 2 * gateway.bodiesInFlightBytesMax + gateway.bodyWorkers * thread + gateway.connectionsMax * 50 * KB + keys,
    'inference-proxy': 200 * MB + 320 * MIB + 3 * proxy.largeRequestBytesMax,
    billing: 330 * MB + billing.lanes * billing.queueMax * 4 * KB,
    catalog: 300 * MB,
    panel: 350 * MB + 2 * (BODIES_BYTES_MAX + PROOFS_BYTES_MAX) + panel.connectionsMax * 50 * KB,
  };
  const tollgate = Object.values(services).reduce((sum, bytes) => sum + bytes);
  return { ...services, tollgate, nats: 50 * MB + 4 * 64 * MIB };
}
