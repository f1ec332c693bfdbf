import { Counter, type Registry } from 'prom-client';

export type PanelMetrics = ReturnType<typeof createPanelMetrics>;

export function createPanelMetrics(registry: Registry) {
  return {
    requests: new Counter({
      name: 'tollgate_panel_requests_total',
      help: 'Requests answered, pages included',
      labelNames: ['method', 'status'],
      registers: [registry],
    }),
  };
}
