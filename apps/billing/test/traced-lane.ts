import { connectPg, type PgConnection } from '#database/pg-connection.js';
import { LANE_SETTINGS } from '../src/batch/apply-batch.js';

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Loops': number;
  Plans?: PlanNode[];
}

/**
 * A connection of a lane that keeps the plan of each statement, those within functions included. The plans are those that ran, as Postgres
 * reports them.
 */
export class TracedLane {
  private readonly names = new Map<string, string>();
  private ran: { statement: string; parts: string[] }[] = [];

  private constructor(
    readonly connection: PgConnection,
    /** Its first group finds the part of a table in the name of a partition. */
    private readonly partition: RegExp,
  ) {
    const query = connection.query.bind(connection) as (...args: unknown[]) => unknown;
    connection.query = ((statement: string | { name: string; text: string }, ...rest: unknown[]) => {
      if (typeof statement === 'object') this.names.set(statement.text, statement.name);
      return query(statement, ...rest);
    }) as typeof connection.query;
    connection.on('notice', ({ message = '' }) => {
      if (!message.startsWith('duration: ')) return;
      const { 'Query Text': text, Plan: plan } = JSON.parse(message.slice(message.indexOf('{'))) as {
        'Query Text': string;
        Plan: PlanNode;
      };
      this.ran.push({ statement: this.names.get(text) ?? 'within a function', parts: this.listParts(plan) });
    });
  }

  static async open(ownerUrl: string, partition: RegExp): Promise<TracedLane> {
    const connection = await connectPg({ url: ownerUrl, applicationName: 'test-lane', settings: LANE_SETTINGS });
    await connection.query(`LOAD 'auto_explain'; SET auto_explain.log_level = notice; SET auto_explain.log_min_duration = 0;
      SET auto_explain.log_analyze = on; SET auto_explain.log_nested_statements = on; SET auto_explain.log_format = json`);
    return new TracedLane(connection, partition);
  }

  /** Returns the statements that ran during `work`, with the parts whose rows their plans looked for. */
  async during(work: () => Promise<unknown>): Promise<Record<string, string[]>> {
    this.ran = [];
    await work();
    const byStatement = Map.groupBy(this.ran, ({ statement }) => statement);
    return Object.fromEntries([...byStatement].map(([statement, runs]) => [statement, inOrder(runs.flatMap(({ parts }) => parts))]));
  }

  private listParts(node: PlanNode): string[] {
    const [, part] = this.partition.exec(node['Relation Name'] ?? '') ?? [];
    const own = part !== undefined && node['Node Type'].endsWith('Scan') && node['Actual Loops'] > 0 ? [part] : [];
    return [...own, ...(node.Plans ?? []).flatMap((child) => this.listParts(child))];
  }
}

export function inOrder(parts: readonly string[]): string[] {
  return [...new Set(parts)].sort();
}
