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
    activityDropped: new Counter({
      name: 'tollgate_panel_activity_dropped_total',
      help: 'Ended requests that were not recorded, because the database was away for too long',
      registers: [registry],
    }),
  };
}
