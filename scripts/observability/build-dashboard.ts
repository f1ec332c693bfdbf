import { DashboardBuilder, DatasourceVariableBuilder, QueryVariableBuilder, RowBuilder } from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as TimeseriesBuilder } from '@grafana/grafana-foundation-sdk/timeseries';

/** Columns of a dashboard, and what a graph and a single number take. */
const GRAPH = { span: 8, height: 8 };
const NUMBER = { span: 6, height: 4 };
const SOURCE = { type: 'prometheus', uid: '$datasource' };

/** A file of `dashboards`. */
export interface Dashboard {
  uid: string;
  title: string;
  description: string;
  /** Labels to filter by, each with a metric that has it. */
  variables?: Record<string, string>;
  rows: { title: string; panels: Panel[] }[];
}

interface Panel {
  title: string;
  description: string;
  unit: string;
  queries: Query[];
  /** Shows the last value. */
  number?: boolean;
  /** Shows dots that lead to traces. */
  exemplars?: boolean;
  max?: number;
}

/** PromQL, or a metric: the rate of a counter, or quantiles of a histogram, by labels. `filter` is a selector in braces. */
type Query =
  | { expression: string; legend?: string }
  | { rate: string; by: string; filter?: string }
  | { quantiles: string; by?: string; filter?: string; of?: number[] };

/** Returns the JSON of Grafana for a dashboard. */
export function buildDashboard({ uid, title, description, variables = {}, rows }: Dashboard): object {
  const builder = new DashboardBuilder(`Tollgate: ${title}`)
    .uid(uid)
    .description(description)
    .tags(['tollgate'])
    .timezone('browser')
    .time({ from: 'now-1h', to: 'now' })
    .refresh('30s')
    .readonly()
    .withVariable(new DatasourceVariableBuilder('datasource').label('Prometheus').type('prometheus'));
  for (const [label, metric] of Object.entries(variables)) {
    builder.withVariable(
      new QueryVariableBuilder(label)
        .datasource(SOURCE)
        .query(`label_values(${metric}, ${label})`)
        .multi(true)
        .includeAll(true)
        .allValue('.*'),
    );
  }
  for (const row of rows) {
    builder.withRow(new RowBuilder(row.title));
    for (const panel of row.panels) builder.withPanel(buildPanel(panel));
  }
  return builder.build();
}

function buildPanel(source: Panel): StatBuilder | TimeseriesBuilder {
  const { title, description, unit, queries, number = false, exemplars = false, max, ...unknown } = source;
  if (Object.keys(unknown).length > 0) throw new Error(`${title}: unknown fields ${Object.keys(unknown).join(', ')}`);
  const { span, height } = number ? NUMBER : GRAPH;
  const panel = number ? new StatBuilder() : new TimeseriesBuilder().min(0).fillOpacity(10);
  panel.title(title).description(description).datasource(SOURCE).unit(unit).span(span).height(height);
  if (max !== undefined) panel.max(max);
  queries.flatMap(writeQuery).forEach(([expr, legend], at) => {
    const query = new DataqueryBuilder()
      .refId(String.fromCharCode(65 + at))
      .expr(expr)
      .legendFormat(legend);
    if (exemplars) query.exemplar(true);
    panel.withTarget(number ? query.instant() : query.range());
  });
  return panel;
}

function writeQuery(query: Query): [expression: string, legend: string][] {
  if ('expression' in query) return [[query.expression, query.legend ?? '']];
  const { by = '', filter = '' } = query;
  const legend = by && `{{${by.replaceAll(', ', '}} {{')}}}`;
  if ('rate' in query) return [[`sum by (${by}) (rate(${query.rate}${filter}[$__rate_interval]))`, legend]];
  const { quantiles: metric, of = [0.5, 0.95, 0.99] } = query;
  return of.map((quantile) => [
    `histogram_quantile(${quantile}, sum by (${by ? `le, ${by}` : 'le'}) (rate(${metric}_bucket${filter}[$__rate_interval])))`,
    `${legend}${by && ' '}p${quantile * 100}`,
  ]);
}
