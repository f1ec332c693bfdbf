import { type Dashboard, quantiles, rateBy } from './build-dashboard.ts';

const ROUTES = '{upstream=~"$upstream",model=~"$model"}';
const MODELS = '{model=~"$model"}';

export const UPSTREAMS: Dashboard = {
  uid: 'tollgate-upstreams',
  title: 'upstreams',
  description: 'Calls of upstreams: failures, circuits, queues, times and tokens of each route.',
  variables: { model: 'tollgate_upstream_calls_total', upstream: 'tollgate_upstream_calls_total' },
  rows: [
    {
      title: 'Failures',
      panels: [
        {
          title: 'Calls',
          description: 'Upstream calls ended in a second.',
          unit: 'reqps',
          queries: [rateBy('tollgate_upstream_calls_total', 'upstream, model', ROUTES)],
        },
        {
          title: 'Share of failed calls',
          description: 'An alert fires above 5 % over ten minutes.',
          unit: 'percentunit',
          max: 1,
          queries: [
            [
              `sum by (upstream, model) (rate(tollgate_upstream_errors_total${ROUTES}[$__rate_interval])) / sum by (upstream, model) (rate(tollgate_upstream_calls_total${ROUTES}[$__rate_interval]))`,
              '{{upstream}} {{model}}',
            ],
          ],
        },
        {
          title: 'Failures by kind',
          description: 'docs/operations.md explains the kinds.',
          unit: 'reqps',
          queries: [rateBy('tollgate_upstream_errors_total', 'upstream, kind', ROUTES)],
        },
        {
          title: 'Odd replies',
          description: 'Unknown finish words, and usage that contradicts its total. The log has the word or the counts.',
          unit: 'reqps',
          queries: [rateBy('tollgate_upstream_oddities_total', 'upstream, kind', ROUTES)],
        },
        {
          title: 'Circuits',
          description: '2: open, or health checks fail; 1: half-open or due for an attempt; 0: closed. The worst replica.',
          unit: 'short',
          max: 2,
          queries: [
            [`max by (upstream, model, upstream_model) (tollgate_upstream_breaker_state${ROUTES})`, '{{upstream}} {{upstream_model}}'],
          ],
        },
        {
          title: 'Retries',
          description: 'Second attempts on another route, and those that the retry budget refused.',
          unit: 'reqps',
          queries: [rateBy('tollgate_model_retries_total', 'model, outcome', MODELS)],
        },
        {
          title: 'Calls in flight',
          description: 'Calls that have not ended, of all replicas.',
          unit: 'short',
          queries: [[`sum by (upstream, model) (tollgate_upstream_calls_in_flight${ROUTES})`, '{{upstream}} {{model}}']],
        },
      ],
    },
    {
      title: 'Queues',
      panels: [
        {
          title: 'Sockets in use',
          description: 'Share of the sockets that the replicas may have to an upstream. At 1, requests wait.',
          unit: 'percentunit',
          max: 1,
          queries: [
            [
              'sum by (upstream) (tollgate_upstream_connections{upstream=~"$upstream"}) / sum by (upstream) (tollgate_upstream_connections_max{upstream=~"$upstream"})',
              '{{upstream}}',
            ],
          ],
        },
        {
          title: 'Requests that wait',
          description: 'Requests in the admission queue of a model: all its routes are full or open.',
          unit: 'short',
          queries: [[`sum by (model) (tollgate_model_requests_waiting${MODELS})`, '{{model}}']],
        },
        {
          title: 'Time in the queue',
          description: 'Only of requests that waited.',
          unit: 's',
          queries: quantiles('tollgate_model_wait_seconds', { by: ['model'], filter: MODELS, of: [0.5, 0.99] }),
        },
        {
          title: 'End of the wait',
          description: 'Requests that left the queue: served, refused, or left by the client.',
          unit: 'reqps',
          queries: [rateBy('tollgate_model_wait_seconds_count', 'model, outcome', MODELS)],
        },
      ],
    },
    {
      title: 'Times and tokens',
      panels: [
        {
          title: 'Time to first token',
          description: 'Streams, from the call to its first content. Each dot is the trace of a call.',
          exemplars: true,
          unit: 's',
          queries: quantiles('gen_ai_client_operation_time_to_first_chunk_seconds', {
            by: ['upstream', 'model'],
            filter: ROUTES,
            of: [0.5, 0.95],
          }),
        },
        {
          title: 'Time per output token',
          description: 'Streams, after the first token.',
          unit: 's',
          queries: quantiles('gen_ai_server_time_per_output_token_seconds', { by: ['upstream', 'model'], filter: ROUTES, of: [0.5, 0.95] }),
        },
        {
          title: 'Time per chunk',
          description: 'Streams, mean of each after its first content. A chunk is what one read of the upstream’s socket brings.',
          unit: 's',
          queries: quantiles('gen_ai_client_operation_time_per_output_chunk_seconds', {
            by: ['upstream', 'model'],
            filter: ROUTES,
            of: [0.5, 0.95],
          }),
        },
        {
          title: 'Time of the whole call',
          description: 'From the call to its last byte. Each dot is the trace of a call.',
          exemplars: true,
          unit: 's',
          queries: quantiles('gen_ai_client_operation_duration_seconds', { by: ['upstream', 'model'], filter: ROUTES, of: [0.5, 0.95] }),
        },
        {
          title: 'Tokens',
          description: 'Tokens of calls in a second: prompt (includes cached), output (includes reasoning).',
          unit: 'short',
          queries: [rateBy('tollgate_upstream_tokens_total', 'upstream, model, kind', ROUTES)],
        },
        {
          title: 'Tokens of a call',
          description: 'Median of input and output.',
          unit: 'short',
          queries: quantiles('gen_ai_client_token_usage', { by: ['model', 'gen_ai_token_type'], filter: ROUTES, of: [0.5] }),
        },
      ],
    },
  ],
};
