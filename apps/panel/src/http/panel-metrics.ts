import type { Registry } from 'prom-client';
import { metricsIn } from '#observability/metrics-in.js';
import { PANEL_ERROR_CODES } from '../errors/panel-error.js';
import { ROUTES } from './routes.js';

/** Methods of pages and endpoints. */
const METHODS = new Set(['GET', 'HEAD', ...Object.values(ROUTES).map(({ method }) => method)]);
/** Statuses of successes, redirects, unchanged pages, errors and clients that left. 405 and 408 have no code of their own. */
const STATUSES = new Set([200, 201, 204, 302, 303, 304, 405, 408, 499, ...Object.values(PANEL_ERROR_CODES).map(({ status }) => status)]);

export type PanelMetrics = ReturnType<typeof createPanelMetrics>;

export function createPanelMetrics(registry: Registry) {
  const { counter, gauge } = metricsIn(registry);
  const metrics = {
    requests: counter('tollgate_panel_requests_total', 'Requests answered, pages included', ['method', 'status']),
    refusalsSummed: counter(
      'tollgate_panel_refusals_summed_total',
      'Refusals that were counted in a sum, because their sender had enough rows in the minute',
      ['journal'],
    ),
    activityDropped: counter(
      'tollgate_panel_activity_dropped_total',
      'Ended requests that were not recorded, because the database was away for too long',
    ),
    mails: counter('tollgate_panel_mails_total', 'Attempts to send a mail', ['outcome']),
    mailFailing: gauge('tollgate_panel_mail_failing', '1 while the mail server does not accept mail, by the last attempt'),
  };
  for (const outcome of ['accepted', 'failed']) metrics.mails.inc({ outcome }, 0);
  // Counters start at 0: rate() misses an increment from nothing to 1.
  for (const method of METHODS) for (const status of STATUSES) metrics.requests.inc({ method, status: String(status) }, 0);
  for (const journal of ['audit', 'activity']) metrics.refusalsSummed.inc({ journal }, 0);
  return metrics;
}
