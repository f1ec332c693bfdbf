import { DashboardBuilder, DatasourceVariableBuilder, QueryVariableBuilder, RowBuilder } from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as TimeseriesBuilder } from '@grafana/grafana-foundation-sdk/timeseries';

/** Columns of a dashboard, and what a graph and a single number take. */
const GRAPH = { span: 8, height: 8 };
const NUMBER = { span: 6, height: 4 };
const SOURCE = { type: 'prometheus', uid: '$datasource' };

export interface Dashboard {
  uid: string;
  title: string;
  description: string;
  /** Labels to filter by, each with a metric that has it. */
  variables?: Record<string, string>;
  rows: { title: string; panels: Panel[] }[];
}

type Query = [expression: string, legend?: string];

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

function buildPanel({ title, description, unit, queries, number = false, exemplars = false, max }: Panel): StatBuilder | TimeseriesBuilder {
  const { span, height } = number ? NUMBER : GRAPH;
  const panel = number ? new StatBuilder() : new TimeseriesBuilder().min(0).fillOpacity(10);
  panel.title(title).description(description).datasource(SOURCE).unit(unit).span(span).height(height);
  if (max !== undefined) panel.max(max);
  queries.forEach(([expr, legend = ''], at) => {
    const query = new DataqueryBuilder()
      .refId(String.fromCharCode(65 + at))
      .expr(expr)
      .legendFormat(legend);
    if (exemplars) query.exemplar(true);
    panel.withTarget(number ? query.instant() : query.range());
  });
  return panel;
}

/** Queries for quantiles of a histogram, by further labels. */
export function quantiles(
  metric: string,
  { by = [], filter = '', of = [0.5, 0.95, 0.99] }: { by?: string[]; filter?: string; of?: number[] } = {},
): Query[] {
  const labels = ['le', ...by].join(', ');
  const legend = by.map((label) => `{{${label}}} `).join('');
  return of.map((quantile) => [
    `histogram_quantile(${quantile}, sum by (${labels}) (rate(${metric}_bucket${filter}[$__rate_interval])))`,
    `${legend}p${quantile * 100}`,
  ]);
}

/** An expression for the mean of a histogram. */
export function mean(metric: string, filter = ''): string {
  return `sum(rate(${metric}_sum${filter}[$__rate_interval])) / sum(rate(${metric}_count${filter}[$__rate_interval]))`;
}

/** A query for the rate of a counter, summed by labels. */
export function rateBy(metric: string, by: string, filter = ''): Query {
  return [`sum by (${by}) (rate(${metric}${filter}[$__rate_interval]))`, `{{${by.replaceAll(', ', '}} {{')}}}`];
}
