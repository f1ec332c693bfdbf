import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import { CONCURRENCY_MAX, NAME_LENGTH_MAX, REQUESTS_PER_MINUTE_MAX, TOKENS_MAX } from '#contracts/rules/bounds.js';
import type { BudgetListReply, Project, ProjectCreateBody, ProjectUpdateBody, UsageQueryReply } from '../../../../src/shapes/billing.js';
import { useApi, useChange, withQuery } from '../../data/api.js';
import { collectMoney } from '../../data/budgets.js';
import { resolveSpan, useNow, writeFilters } from '../../data/filters.js';
import { useNames, useSession } from '../../data/session.js';
import { count, plural } from '../../format/numbers.js';
import { Badge } from '../../parts/badge.js';
import { TightestBudget } from '../../parts/budget-use.js';
import { Button } from '../../parts/button.js';
import { DialogForm } from '../../parts/dialog.js';
import { LimitField, SelectField, TextField } from '../../parts/field.js';
import { WithOwner } from '../../parts/managed.js';
import { Money, OnePrecision } from '../../parts/money.js';
import { Card, Empty, Page } from '../../parts/page.js';
import { buttonColumn, Table, TwoLines } from '../../parts/table.js';
import { changePolicy, PolicyFields, toTexts } from './project-policy.js';

/** The projects of an account, with their limits and the cost of the month. */
export function Projects() {
  const { account, project, may, linkTo } = useSession();
  const [, navigate] = useLocation();
  const { projects, keys } = useNames();
  const { from } = resolveSpan({ range: 'month' }, useNow(60_000), 'month');
  const usage = useApi<UsageQueryReply>(
    withQuery(`/accounts/${account}/usage`, { from: new Date(from).toISOString(), groupBy: 'project' }),
  );
  const budgets = useApi<BudgetListReply>(`/accounts/${account}/budgets`);
  const [editing, setEditing] = useState<Project | 'new'>();
  const findUsage = (id: string) => usage.data?.rows.find(({ projectId }) => projectId === id);
  const amounts = [...(usage.data?.rows ?? []).map(({ costPicoUsd }) => costPicoUsd), ...collectMoney(budgets.data?.budgets)];
  // A role of one project makes no others.
  const newProject = may('projects') && !project && (
    <Button look="primary" icon="plus" onClick={() => setEditing('new')}>
      New project
    </Button>
  );
  return (
    <Page title="Projects" about="A project has keys and limits of its own. Its requests are charged to the account." actions={newProject}>
      <OnePrecision amounts={amounts}>
        <Card flush>
          <Table<Project>
            caption="Projects"
            rows={projects}
            rowKey={({ projectId }) => projectId}
            isMuted={({ enabled }) => !enabled}
            empty={
              <Empty icon="projects" title="No projects yet" text="Create one for each program or team, then a key in it.">
                {newProject}
              </Empty>
            }
            columns={[
              {
                head: 'Name',
                grow: true,
                cell: ({ projectId, name, managedBy }) => (
                  <TwoLines
                    main={<Link to={linkTo(`projects/${projectId}`)}>{name}</Link>}
                    more={
                      <WithOwner by={managedBy}>
                        <Link to={linkTo('keys') + writeFilters({ project: projectId })}>
                          {plural(keys?.filter((key) => key.projectId === projectId && key.status === 'active').length ?? 0, 'key')}
                        </Link>
                      </WithOwner>
                    }
                  />
                ),
              },
              { head: 'State', cell: ({ enabled }) => (enabled ? <Badge tone="good">Enabled</Badge> : <Badge>Disabled</Badge>) },
              { head: 'Requests\na minute', align: 'end', wide: true, cell: ({ requestsPerMinuteMax }) => count(requestsPerMinuteMax) },
              { head: 'Concurrent', align: 'end', wide: true, cell: ({ concurrencyMax }) => count(concurrencyMax) },
              {
                head: 'Requests\nthis month',
                align: 'end',
                wide: true,
                cell: ({ projectId }) => usage.data && count(findUsage(projectId)?.requests ?? 0),
              },
              {
                head: 'Cost\nthis month',
                align: 'end',
                cell: ({ projectId }) => usage.data && <Money pico={findUsage(projectId)?.costPicoUsd ?? '0'} plain />,
              },
              {
                head: 'Budget',
                wide: true,
                cell: ({ projectId }) => <TightestBudget budgets={budgets.data?.budgets} of={{ projectId }} />,
              },
              // On narrow screens the page of the project has it.
              { ...buttonColumn<Project>('Edit', setEditing, { has: () => may('projects') }), wide: true },
            ]}
          />
        </Card>
      </OnePrecision>
      {editing && (
        <EditProject
          project={editing === 'new' ? undefined : editing}
          // A new project has no key yet: its page leads to one.
          onMade={(projectId) => navigate(linkTo(`projects/${projectId}`))}
          onClose={() => setEditing(undefined)}
        />
      )}
    </Page>
  );
}

interface EditProjectProps {
  project?: Project | undefined;
  /** Called with the id of a new project. */
  onMade?: (projectId: string) => void;
  onClose: () => void;
}

/** Makes a project, or changes one. Limits are the operator's. */
export function EditProject({ project, onMade, onClose }: EditProjectProps) {
  const { account, mayOnPlatform } = useSession();
  const maySetLimits = mayOnPlatform('accounts');
  // Made once: a form that is sent twice makes one project.
  const [projectId] = useState(() => project?.projectId ?? crypto.randomUUID());
  const [name, setName] = useState(project?.name ?? '');
  const [enabled, setEnabled] = useState(project?.enabled ?? true);
  const [perMinute, setPerMinute] = useState(`${project?.requestsPerMinuteMax ?? ''}`);
  const [atOnce, setAtOnce] = useState(`${project?.concurrencyMax ?? ''}`);
  const [tokens, setTokens] = useState(`${project?.tokensPerMinuteMax ?? ''}`);
  const [policy, setPolicy] = useState(toTexts(project?.policy));
  const limits = maySetLimits && {
    ...(perMinute && { requestsPerMinuteMax: Number(perMinute) }),
    ...(atOnce && { concurrencyMax: Number(atOnce) }),
    ...(tokens && { tokensPerMinuteMax: Number(tokens) }),
  };
  // Without a number the limit that there was ends.
  const noTokens = maySetLimits && tokens === '' && project?.tokensPerMinuteMax && { tokensPerMinuteMax: null };
  const saving = useChange<Project>(() =>
    project
      ? {
          method: 'PATCH',
          path: `/projects/${projectId}`,
          body: {
            name,
            enabled,
            ...limits,
            ...noTokens,
            ...(maySetLimits && changePolicy(policy, project.policy)),
          } satisfies ProjectUpdateBody,
        }
      : { method: 'POST', path: `/accounts/${account}/projects`, body: { projectId, name, ...limits } satisfies ProjectCreateBody },
  );
  return (
    <DialogForm
      title={project ? project.name : 'New project'}
      managedBy={project?.managedBy}
      submit={project ? 'Save' : 'Create project'}
      change={saving}
      onDone={() => {
        onClose();
        if (!project) onMade?.(projectId);
      }}
      onClose={onClose}
    >
      <TextField label="Name" value={name} onText={setName} maxLength={NAME_LENGTH_MAX} required />
      {project && (
        <SelectField
          label="State"
          options={[
            ['on', 'Enabled'],
            ['off', 'Disabled: its keys are refused, its running requests stopped'],
          ]}
          value={enabled ? 'on' : 'off'}
          onChoose={(state) => setEnabled(state === 'on')}
        />
      )}
      {maySetLimits && (
        <>
          <LimitField
            label="Requests a minute"
            max={REQUESTS_PER_MINUTE_MAX}
            value={perMinute}
            onText={setPerMinute}
            placeholder="Default of the platform"
          />
          <LimitField
            label="Concurrent requests"
            max={CONCURRENCY_MAX}
            value={atOnce}
            onText={setAtOnce}
            placeholder="Default of the platform"
          />
          <LimitField label="Tokens a minute" max={TOKENS_MAX} value={tokens} onText={setTokens} />
          {project && <PolicyFields texts={policy} onChange={setPolicy} />}
        </>
      )}
    </DialogForm>
  );
}
