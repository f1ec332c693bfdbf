import type { UsageQueryReply } from '../../../../src/shapes/billing.js';
import type { TrafficReply } from '../../../../src/shapes/overview.js';
import { useApi, withQuery } from '../../data/api.js';
import { type Filters, sortRows, type TimeSpan, useFilters } from '../../data/filters.js';
import { useSession } from '../../data/session.js';
import { count, percent } from '../../format/numbers.js';
import { Money } from '../../parts/money.js';
import { Card, Empty } from '../../parts/page.js';
import { Table } from '../../parts/table.js';
import { duration } from '../../parts/time.js';
import { compareModels, type ModelFigures } from './model-figures.js';

/** Times, errors, speed and cost of a request, model beside model. */
export function ModelTable({ filters, span }: { filters: Filters; span: TimeSpan }) {
  const { account } = useSession();
  const { change } = useFilters();
  const sort = filters.sortModels ?? '-requests';
  const question = {
    ...{ from: new Date(span.from).toISOString(), to: new Date(span.to).toISOString() },
    ...{ projectId: filters.project, keyId: filters.key, model: filters.model, groupBy: 'model' },
  };
  const traffic = useApi<TrafficReply>(withQuery(`/accounts/${account}/traffic`, question));
  const usage = useApi<UsageQueryReply>(withQuery(`/accounts/${account}/usage`, { ...question, ending: 'completed', limit: 1_000 }));
  return (
    <Card flush title="Models compared" note="errors include refusals; times, tokens a second and cost are of completed requests">
      <Table<ModelFigures>
        caption="Models compared"
        rows={traffic.data && usage.data && sortRows(compareModels(traffic.data.rows, usage.data.rows), sort, VALUES)}
        sorting={{ by: sort, onSort: (by) => change({ sortModels: by }) }}
        placeholders={3}
        rowKey={({ model }) => model}
        empty={<Empty icon="models" title="No requests are recorded in this time" />}
        columns={[
          { head: 'Model', grow: true, sort: 'model', cell: ({ model }) => model },
          { head: 'Requests', align: 'end', wide: true, sort: 'requests', cell: ({ requests }) => count(requests) },
          { head: 'Errors', align: 'end', sort: 'errors', cell: ({ errors }) => percent(errors) },
          {
            head: 'First content,\np50',
            align: 'end',
            wide: true,
            sort: 'first-p50',
            cell: ({ firstContentMs }) => time(firstContentMs?.p50),
          },
          {
            head: 'First content,\np95',
            align: 'end',
            wide: true,
            sort: 'first-p95',
            cell: ({ firstContentMs }) => time(firstContentMs?.p95),
          },
          { head: 'Whole reply,\np50', align: 'end', wide: true, sort: 'whole-p50', cell: ({ durationMs }) => time(durationMs?.p50) },
          { head: 'Whole reply,\np95', align: 'end', sort: 'whole-p95', cell: ({ durationMs }) => time(durationMs?.p95) },
          {
            head: 'Tokens\na second',
            sort: 'speed',
            align: 'end',
            wide: true,
            cell: ({ tokensPerSecond: speed }) => (speed === null ? '–' : count(round(speed))),
          },
          {
            head: 'Cost\na request',
            sort: 'cost',
            align: 'end',
            wide: true,
            cell: ({ requestPicoUsd: cost }) => (cost === null ? '–' : <Money pico={cost} plain />),
          },
        ]}
      />
    </Card>
  );
}

const VALUES: Record<string, (figures: ModelFigures) => number | bigint | string | null | undefined> = {
  model: ({ model }) => model,
  requests: ({ requests }) => requests,
  errors: ({ errors }) => errors,
  'first-p50': ({ firstContentMs }) => firstContentMs?.p50,
  'first-p95': ({ firstContentMs }) => firstContentMs?.p95,
  'whole-p50': ({ durationMs }) => durationMs?.p50,
  'whole-p95': ({ durationMs }) => durationMs?.p95,
  speed: ({ tokensPerSecond }) => tokensPerSecond,
  cost: ({ requestPicoUsd }) => requestPicoUsd,
};

function time(ms: number | undefined): string {
  return ms === undefined ? '–' : duration(ms);
}

/** Two digits or more. */
function round(value: number): number {
  return value < 10 ? Math.round(value * 10) / 10 : Math.round(value);
}
