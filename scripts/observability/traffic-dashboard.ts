import { type Dashboard, mean, quantiles, rateBy } from './build-dashboard.ts';

export const TRAFFIC: Dashboard = {
  uid: 'tollgate-traffic',
  title: 'traffic and objectives',
  description: 'Requests of clients: errors against the objectives, latency, tokens, and how busy the processes are.',
  rows: [
    {
      title: 'Objectives',
      panels: [
        {
          title: 'Requests without an error, 6 h',
          description: 'Objective: 99.9 %. Refusals of the client’s own fault do not count.',
          unit: 'percentunit',
          number: true,
          queries: [['1 - max(tollgate:errors:ratio_rate6h)']],
        },
        {
          title: 'Holds within 100 ms, 6 h',
          description: 'Objective: 99 %. The delay before the upstream is called.',
          unit: 'percentunit',
          number: true,
          queries: [['1 - max(tollgate:slow_reserves:ratio_rate6h)']],
        },
        {
          title: 'Requests',
          description: 'Requests answered in a second, of all routes.',
          unit: 'reqps',
          number: true,
          queries: [['sum(rate(tollgate_gateway_requests_total[$__rate_interval]))']],
        },
        {
          title: 'Alerts firing',
          description: 'docs/runbooks.md has a section for each.',
          unit: 'short',
          number: true,
          queries: [['count(ALERTS{alertstate="firing",alertname=~"Tollgate.*"}) or vector(0)']],
        },
        {
          title: 'Burn rate of errors',
          description:
            'Share of errors divided by the share that the objective allows. Above 14.4 over an hour, a month’s budget lasts two days.',
          unit: 'short',
          queries: [
            ['max(tollgate:errors:ratio_rate5m) / 0.001', '5 min'],
            ['max(tollgate:errors:ratio_rate1h) / 0.001', '1 h'],
            ['max(tollgate:errors:ratio_rate6h) / 0.001', '6 h'],
          ],
        },
        {
          title: 'Burn rate of slow holds',
          description: 'Share of holds that took longer than 100 ms, divided by the share that the objective allows.',
          unit: 'short',
          queries: [
            ['max(tollgate:slow_reserves:ratio_rate5m) / 0.01', '5 min'],
            ['max(tollgate:slow_reserves:ratio_rate1h) / 0.01', '1 h'],
            ['max(tollgate:slow_reserves:ratio_rate6h) / 0.01', '6 h'],
          ],
        },
        {
          title: 'Firing alerts',
          description: 'Each alert while it fires.',
          unit: 'short',
          queries: [['count by (alertname) (ALERTS{alertstate="firing",alertname=~"Tollgate.*"})', '{{alertname}}']],
        },
      ],
    },
    {
      title: 'Requests',
      panels: [
        {
          title: 'Requests by route',
          description: 'Requests answered in a second.',
          unit: 'reqps',
          queries: [rateBy('tollgate_gateway_requests_total', 'route')],
        },
        {
          title: 'Refusals and errors by code',
          description: 'Requests that got an error, also within a stream.',
          unit: 'reqps',
          queries: [rateBy('tollgate_gateway_requests_total', 'status, code', '{code!=""}')],
        },
        {
          title: 'Tokens billed',
          description: 'Prompt tokens (without cached ones), cached ones and output tokens, in a second.',
          unit: 'short',
          queries: [rateBy('tollgate_gateway_tokens_total', 'kind')],
        },
        {
          title: 'Time to first content',
          description: 'Request line to first content of the model, of streams. Each dot is the trace of a request.',
          exemplars: true,
          unit: 's',
          queries: quantiles('tollgate_gateway_first_content_seconds', { filter: '{stream="true"}' }),
        },
        {
          title: 'Mean time that Tollgate adds to the first content',
          description:
            'Of streams: the mean time to the first content at the gateway, less that at the upstream. Includes the client’s upload, admission queues and failed attempts.',
          unit: 's',
          queries: [
            [
              `${mean('tollgate_gateway_first_content_seconds', '{stream="true"}')} - ${mean('gen_ai_client_operation_time_to_first_chunk_seconds')}`,
              'added',
            ],
          ],
        },
        {
          title: 'Time of the whole request',
          description: 'Request line to the last byte of the reply. Each dot is the trace of a request.',
          exemplars: true,
          unit: 's',
          queries: quantiles('tollgate_gateway_request_seconds', { by: ['stream'] }),
        },
        {
          title: 'Time to the hold',
          description: 'Parsed request to its hold: what Tollgate adds before the upstream is called. Each dot is the trace of a request.',
          exemplars: true,
          unit: 's',
          queries: quantiles('tollgate_gateway_reserve_seconds'),
        },
        {
          title: 'In flight',
          description: 'Requests not yet answered and settled, and connections of clients.',
          unit: 'short',
          queries: [
            ['sum(tollgate_gateway_requests_in_flight)', 'requests'],
            ['sum(tollgate_gateway_connections_open)', 'connections'],
          ],
        },
      ],
    },
    {
      title: 'Processes',
      panels: [
        {
          title: 'Event loop utilisation',
          description: 'Share of its one thread that each replica uses. Above 0.9, add replicas.',
          unit: 'percentunit',
          max: 1,
          queries: [['max by (job, instance) (tollgate_event_loop_utilization)', '{{job}} {{instance}}']],
        },
        {
          title: 'Event loop delay, p99',
          description: 'Delay of timers since the scrape before.',
          unit: 's',
          queries: [['max by (job, instance) (nodejs_eventloop_lag_p99_seconds)', '{{job}} {{instance}}']],
        },
        {
          title: 'NATS',
          description: 'Seconds of a ping to NATS and back; 0 without a connection.',
          unit: 's',
          queries: [['max by (job, instance) (tollgate_nats_round_trip_seconds)', '{{job}} {{instance}}']],
        },
        {
          title: 'Connections to NATS',
          description: 'Replicas with a connection, connections after the first, and notices of a server that it is about to stop.',
          unit: 'short',
          queries: [
            ['sum by (job) (tollgate_nats_connected)', '{{job}} connected'],
            ['sum by (job) (increase(tollgate_nats_reconnects_total[$__rate_interval]))', '{{job}} reconnects'],
            ['sum by (job) (increase(tollgate_nats_lame_duck_notices_total[$__rate_interval]))', '{{job}} notices'],
          ],
        },
        {
          title: 'Calls and streams over NATS',
          description: 'Calls that wait for their reply, and streams by the end that a service has.',
          unit: 'short',
          queries: [['sum by (job, kind) (tollgate_nats_running)', '{{job}} {{kind}}']],
        },
        {
          title: 'Back-pressure',
          description: 'Streams that wait for their reader to take what was sent, and messages that wait for a connection to NATS.',
          unit: 'short',
          queries: [
            ['sum by (job) (tollgate_nats_streams_without_credit)', '{{job}} streams'],
            ['sum by (job) (tollgate_nats_messages_waiting)', '{{job}} messages'],
          ],
        },
        {
          title: 'Memory',
          description: 'Resident memory of each replica.',
          unit: 'bytes',
          queries: [['max by (job, instance) (process_resident_memory_bytes)', '{{job}} {{instance}}']],
        },
        {
          title: 'Request bodies',
          description: 'Bytes of bodies in flight.',
          unit: 'bytes',
          queries: [['sum(tollgate_gateway_body_bytes_in_flight)', 'bytes']],
        },
        {
          title: 'Bodies that wait',
          description: 'Large bodies that wait for a thread that parses them.',
          unit: 'short',
          queries: [['sum(tollgate_gateway_bodies_waiting)', 'bodies']],
        },
        {
          title: 'Certificates',
          description: 'Time until the first certificate of a file expires. An alert fires two weeks before.',
          unit: 's',
          queries: [['min by (file) (tollgate_certificate_expiry_timestamp_seconds) - time()', '{{file}}']],
        },
        {
          title: 'Spans',
          description:
            'Spans of traces in a second: exported, not taken by the collector, or dropped. Empty while traces are not exported.',
          unit: 'short',
          queries: [rateBy('tollgate_trace_spans_total', 'job, outcome')],
        },
        {
          title: 'Builds',
          description: 'Replicas of each build. More than one line is a roll-out.',
          unit: 'short',
          queries: [['count by (version, commit) (tollgate_build_info)', '{{version}} {{commit}}']],
        },
      ],
    },
    {
      title: 'Catalog and panel',
      panels: [
        {
          title: 'Models',
          description: 'Enabled models that the replicas of the catalog serve.',
          unit: 'short',
          queries: [['max by (instance) (tollgate_catalog_models)', '{{instance}}']],
        },
        {
          title: 'Revision of the catalog',
          description: 'Replicas that differ for long do not reach the database.',
          unit: 'short',
          queries: [['max by (instance) (tollgate_catalog_revision)', '{{instance}}']],
        },
        {
          title: 'Changes and reads of the catalog',
          description: 'Applies by outcome, and reads of the database that failed; the last revision stays in use.',
          unit: 'short',
          queries: [
            ['sum by (outcome) (increase(tollgate_catalog_applies_total[$__rate_interval]))', 'applies {{outcome}}'],
            ['sum(increase(tollgate_catalog_refresh_failures_total[$__rate_interval]))', 'failed reads'],
          ],
        },
        {
          title: 'Requests of the panel',
          description: 'Requests of pages and of the panel’s API, by status.',
          unit: 'reqps',
          queries: [rateBy('tollgate_panel_requests_total', 'status')],
        },
        {
          title: 'Refusals that were summed',
          description: 'Refusals beyond ten rows a minute of one person, token or key: they count, and have no row of their own.',
          unit: 'reqps',
          queries: [rateBy('tollgate_panel_refusals_summed_total', 'journal')],
        },
        {
          title: 'Activity that was dropped',
          description: 'Requests that are missing in the activity of the panel. Bills are not affected.',
          unit: 'short',
          queries: [
            ['sum(increase(tollgate_gateway_activity_dropped_total[$__rate_interval]))', 'gateway'],
            ['sum(increase(tollgate_panel_activity_dropped_total[$__rate_interval]))', 'panel'],
          ],
        },
      ],
    },
  ],
};
