import { useState } from 'react';
import { Link } from 'wouter';
import type { BudgetListReply } from '../../../../src/shapes/budgets.js';
import type { Project } from '../../../../src/shapes/projects.js';
import type { UsageQueryReply } from '../../../../src/shapes/usage.js';
import { withQuery } from '../../data/api.js';
import { collectMoney } from '../../data/budgets.js';
import { resolveSpan, writeFilters } from '../../data/filters.js';
import { useSession } from '../../data/session.js';
import { useApi } from '../../data/use-api.js';
import { useNow } from '../../data/use-filters.js';
import { useNames } from '../../data/use-names.js';
import { count, plural } from '../../format/count.js';
import { Badge } from '../../parts/badge.js';
import { TightestBudget } from '../../parts/budget-use.js';
import { Button } from '../../parts/button.js';
import { Card } from '../../parts/card.js';
import { Empty } from '../../parts/empty.js';
import { Money, OnePrecision } from '../../parts/money.js';
import { Page } from '../../parts/page.js';
import { buttonColumn, Table, TwoLines } from '../../parts/table.js';
import { EditProject } from './edit-project.js';

/** The projects of an account, with their limits and the cost of the month. */
export function Projects() {
  const { account, may, linkTo } = useSession();
  const { projects, keys } = useNames();
  const { from } = resolveSpan({ range: 'month' }, useNow(60_000), 'month');
  const usage = useApi<UsageQueryReply>(
    withQuery(`/accounts/${account}/usage`, { from: new Date(from).toISOString(), groupBy: 'project' }),
  );
  const budgets = useApi<BudgetListReply>(`/accounts/${account}/budgets`);
  const [editing, setEditing] = useState<Project | 'new'>();
  const findUsage = (id: string) => usage.data?.rows.find(({ projectId }) => projectId === id);
  const amounts = [...(usage.data?.rows ?? []).map(({ costPicoUsd }) => costPicoUsd), ...collectMoney(budgets.data?.budgets)];
  const newProject = (
    <Button look="primary" icon="plus" onClick={() => setEditing('new')}>
      New project
    </Button>
  );
  return (
    <Page
      title="Projects"
      about="A project has keys and limits of its own. Its requests are charged to the account."
      actions={may('projects') && newProject}
    >
      <OnePrecision amounts={amounts}>
        <Card flush>
          <Table<Project>
            caption="Projects"
            rows={projects}
            rowKey={({ projectId }) => projectId}
            isMuted={({ enabled }) => !enabled}
            empty={
              <Empty icon="projects" title="No projects yet">
                <p>Create one for each program or team, then a key in it.</p>
                {may('projects') && newProject}
              </Empty>
            }
            columns={[
              {
                head: 'Name',
                grow: true,
                cell: ({ projectId, name }) => (
                  <TwoLines
                    main={<Link to={linkTo('usage') + writeFilters({ project: projectId, range: 'month' })}>{name}</Link>}
                    more={
                      <Link to={linkTo('keys') + writeFilters({ project: projectId })}>
                        {plural(keys?.filter((key) => key.projectId === projectId && key.status === 'active').length ?? 0, 'key')}
                      </Link>
                    }
                  />
                ),
              },
              { head: 'State', cell: ({ enabled }) => (enabled ? <Badge tone="good">Enabled</Badge> : <Badge>Disabled</Badge>) },
              { head: 'Requests a minute', align: 'end', wide: true, cell: ({ requestsPerMinuteMax }) => count(requestsPerMinuteMax) },
              { head: 'At once', align: 'end', wide: true, cell: ({ concurrencyMax }) => count(concurrencyMax) },
              {
                head: 'Requests this month',
                align: 'end',
                wide: true,
                cell: ({ projectId }) => usage.data && count(findUsage(projectId)?.requests ?? 0),
              },
              {
                head: 'Cost this month',
                align: 'end',
                cell: ({ projectId }) => usage.data && <Money pico={findUsage(projectId)?.costPicoUsd ?? '0'} plain />,
              },
              {
                head: 'Budget',
                wide: true,
                cell: ({ projectId }) => <TightestBudget budgets={budgets.data?.budgets} of={{ projectId }} />,
              },
              buttonColumn('Edit', setEditing, { has: () => may('projects') }),
            ]}
          />
        </Card>
      </OnePrecision>
      {editing && <EditProject project={editing === 'new' ? undefined : editing} onClose={() => setEditing(undefined)} />}
    </Page>
  );
}
