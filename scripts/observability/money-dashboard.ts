import { type Dashboard, mean, quantiles, rateBy } from './build-dashboard.ts';

const PICO_USD = '1e12';

/** A query for what a counter of pico-USD adds up to in an hour, in USD. */
function usdAnHour(metric: string, legend: string): [expression: string, legend: string] {
  return [`sum(rate(${metric}[$__rate_interval])) * 3600 / ${PICO_USD}`, legend];
}

export const MONEY: Dashboard = {
  uid: 'tollgate-money',
  title: 'money',
  description: 'Holds, charges, losses, and the health of the ledger. Amounts are floats for graphs; the ledger is exact.',
  rows: [
    {
      title: 'Now',
      panels: [
        {
          title: 'Charged in 24 h',
          description: 'Costs of all requests.',
          unit: 'currencyUSD',
          number: true,
          queries: [[`sum(increase(tollgate_billing_cost_pico_usd_total[24h])) / ${PICO_USD}`]],
        },
        {
          title: 'On hold',
          description: 'Money set aside for running requests.',
          unit: 'currencyUSD',
          number: true,
          queries: [[`max(tollgate_billing_held_pico_usd) / ${PICO_USD}`]],
        },
        {
          title: 'Ledger violations',
          description: 'Violations at the last check. It must be 0.',
          unit: 'short',
          number: true,
          queries: [['sum(max by (invariant) (tollgate_billing_ledger_violations))']],
        },
        {
          title: 'Age of the ledger check',
          description: 'An alert fires after 15 minutes.',
          unit: 's',
          number: true,
          queries: [['time() - max(tollgate_billing_ledger_check_timestamp_seconds)']],
        },
      ],
    },
    {
      title: 'Holds and charges',
      panels: [
        {
          title: 'Charged',
          description: 'USD in an hour, at the rate of the moment.',
          unit: 'currencyUSD',
          queries: [usdAnHour('tollgate_billing_cost_pico_usd_total', 'charged')],
        },
        {
          title: 'Reserves by outcome',
          description: 'Holds made, and refusals by their reason.',
          unit: 'reqps',
          queries: [rateBy('tollgate_billing_reserves_total', 'outcome')],
        },
        {
          title: 'Settlements by reason',
          description: '“lease-expired” is a process that died without settling.',
          unit: 'reqps',
          queries: [rateBy('tollgate_billing_settles_total', 'reason')],
        },
        {
          title: 'Open holds',
          description: 'Holds of all accounts, and requests that the gateways have.',
          unit: 'short',
          queries: [
            ['max(tollgate_billing_holds_open)', 'holds'],
            ['sum(tollgate_gateway_requests_in_flight)', 'requests'],
          ],
        },
        {
          title: 'Settlements that wait',
          description: 'Settlements that billing has not confirmed to a gateway.',
          unit: 'short',
          queries: [['sum(tollgate_gateway_settlements_pending)', 'settlements']],
        },
        {
          title: 'Borne by the operator',
          description: 'Usage beyond holds, late settlements that accounts could not pay, and what the reaper gave back. USD in an hour.',
          unit: 'currencyUSD',
          queries: [
            usdAnHour('tollgate_billing_over_pico_usd_total', 'over the hold'),
            usdAnHour('tollgate_billing_written_off_pico_usd_total', 'written off'),
            usdAnHour('tollgate_billing_given_back_pico_usd_total', 'given back'),
          ],
        },
        {
          title: 'Unusual ends',
          description: 'Requests settled after the reaper, holds that ended before they began, settlements above their hold.',
          unit: 'reqps',
          queries: [
            ['sum(rate(tollgate_billing_late_settlements_total[$__rate_interval]))', 'late'],
            ['sum(rate(tollgate_billing_tombstones_total[$__rate_interval]))', 'tombstones'],
            ['sum(rate(tollgate_billing_over_holds_total[$__rate_interval]))', 'over the hold'],
          ],
        },
      ],
    },
    {
      title: 'Billing and its database',
      panels: [
        {
          title: 'Wait for a batch',
          description: 'Age of the oldest reserve or settle without an outcome. It grows while Postgres is away.',
          unit: 's',
          queries: [['max by (instance) (tollgate_billing_waiting_seconds)', '{{instance}}']],
        },
        {
          title: 'Queue',
          description: 'Reserves and settles that wait for a batch.',
          unit: 'short',
          queries: [['sum by (instance) (tollgate_billing_queue)', '{{instance}}']],
        },
        {
          title: 'Connections to Postgres',
          description:
            'Connections of the pool in use and those that it may have, and queries that wait for one. The lanes of billing have connections of their own.',
          unit: 'short',
          queries: [
            ['max by (job, instance, pool) (tollgate_postgres_pool_connections)', '{{job}} {{instance}} {{pool}}'],
            ['max by (job, instance, pool) (tollgate_postgres_pool_connections_max)', '{{job}} {{instance}} {{pool}} at most'],
            ['max by (job, instance, pool) (tollgate_postgres_pool_waiting)', '{{job}} {{instance}} {{pool}} waiting'],
          ],
        },
        {
          title: 'Time of a batch',
          description: 'From sending a batch to its commit.',
          unit: 's',
          queries: quantiles('tollgate_billing_batch_seconds', { of: [0.5, 0.99] }),
        },
        {
          title: 'Size of a batch',
          description: 'Reserves and settles that share a transaction.',
          unit: 'short',
          queries: [[mean('tollgate_billing_batch_size'), 'mean']],
        },
        {
          title: 'Violations by invariant',
          description: 'docs/operations.md has the repair of each.',
          unit: 'short',
          queries: [['max by (invariant) (tollgate_billing_ledger_violations)', '{{invariant}}']],
        },
        {
          title: 'Ledger check',
          description: 'Duration of the last check, and its age.',
          unit: 's',
          queries: [
            ['max(tollgate_billing_ledger_check_seconds)', 'duration'],
            ['time() - max(tollgate_billing_ledger_check_timestamp_seconds > 0)', 'age'],
          ],
        },
        {
          title: 'Frozen accounts',
          description: 'Frozen by an operator or by the ledger check.',
          unit: 'short',
          queries: [['max(tollgate_billing_accounts_frozen)', 'accounts']],
        },
        {
          title: 'Keys that expire',
          description: 'API keys without a successor that expire within a week.',
          unit: 'short',
          queries: [['max(tollgate_billing_keys_expiring)', 'keys']],
        },
        {
          title: 'Undelivered money events',
          description: 'Events that wait for NATS or for a webhook, and those that were given up.',
          unit: 'short',
          queries: [
            ['max by (destination) (tollgate_billing_undelivered_events)', '{{destination}}'],
            ['max(tollgate_billing_dead_letters)', 'dead letters'],
          ],
        },
        {
          title: 'Oldest undelivered money event',
          description: 'An alert fires after 15 minutes.',
          unit: 's',
          queries: [['max by (destination) (tollgate_billing_oldest_undelivered_event_seconds)', '{{destination}}']],
        },
        {
          title: 'Months overdue',
          description: 'Months that ended more than a week ago and are not closed.',
          unit: 'short',
          queries: [['max(tollgate_billing_months_overdue)', 'months']],
        },
        {
          title: 'Age of the usage rollups',
          description: 'Usage is added to its rollups every half minute.',
          unit: 's',
          queries: [['time() - max(tollgate_billing_usage_closed_timestamp_seconds > 0)', 'age']],
        },
      ],
    },
  ],
};
