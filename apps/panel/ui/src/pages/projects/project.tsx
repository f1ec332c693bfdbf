import { useState } from 'react';
import { Link, Redirect, useParams } from 'wouter';
import type { KeyRow, Project } from '../../../../src/shapes/billing.js';
import type { Grant, Member, Role } from '../../../../src/shapes/identity.js';
import type { ProjectDetails } from '../../../../src/shapes/overview.js';
import { ApiError, useApi } from '../../data/api.js';
import { collectMoney } from '../../data/budgets.js';
import { writeFilters } from '../../data/filters.js';
import { shortId, useSession } from '../../data/session.js';
import { count, plural } from '../../format/numbers.js';
import { Badge } from '../../parts/badge.js';
import { BudgetUse } from '../../parts/budget-use.js';
import { Button, ButtonLink } from '../../parts/button.js';
import { LastRequests } from '../../parts/last-requests.js';
import { Money, OnePrecision } from '../../parts/money.js';
import { Card, Columns, Empty, Fact, Figure, Figures, Page } from '../../parts/page.js';
import { SpendChart } from '../../parts/spend-chart.js';
import { SPENDERS_MAX, SpendRanking } from '../../parts/spend-ranking.js';
import { Table, TwoLines } from '../../parts/table.js';
import { relativeTime } from '../../parts/time.js';
import { NewKey } from '../keys/key-dialogs.js';
import { hasEnded } from '../keys/key-list.js';
import { keyTitle, keyWords } from '../keys/key-words.js';
import { ROLE_NAMES } from '../members/role-names.js';
import styles from './project.module.css';
import { policyWords } from './project-policy.js';
import { EditProject } from './projects.js';

/** Amounts that requests change. */
const REFETCH_MS = 15_000;
/** Keys that the page lists; the others are on the page Keys. */
const KEYS_MAX = 8;

/** One project: what it spends, what it may spend, its keys, the people who may use it, and its last requests. */
export function ProjectPage() {
  const { projectId = '' } = useParams<{ projectId: string }>();
  const { account, may, linkTo } = useSession();
  const { data, error } = useApi<ProjectDetails>(`/projects/${encodeURIComponent(projectId)}`, {
    refetchMs: REFETCH_MS,
    handles: ['not_found'],
  });
  const [asking, setAsking] = useState<'edit' | 'key'>();
  const parent = { name: 'Projects', href: linkTo('projects') };
  if (error instanceof ApiError && error.code === 'not_found') {
    return (
      <Page title="Project" parent={parent}>
        <Empty icon="projects" title="There is no such project" text="Or it belongs to an account that you do not see." />
      </Page>
    );
  }
  // The reply of another project may stand in while this one loads.
  if (!data || data.project.projectId !== projectId) return <Page title="Project" parent={parent} busy />;
  const { project, keys } = data;
  if (project.accountId !== account) return <Redirect to={linkTo(`projects/${projectId}`, project.accountId)} replace />;
  const newKey = may('keys') && (
    <Button look="primary" icon="plus" onClick={() => setAsking('key')}>
      {keys.length === 0 ? 'Create a key' : 'New key'}
    </Button>
  );
  return (
    <Page
      title={project.name}
      parent={parent}
      about={project.enabled ? undefined : 'Disabled: its keys are refused.'}
      actions={
        <>
          {may('projects') && <Button onClick={() => setAsking('edit')}>Edit</Button>}
          {keys.length > 0 && newKey}
        </>
      }
    >
      <OnePrecision amounts={amountsIn(data)}>
        <Sums data={data} />
        {keys.length === 0 && (
          <Card>
            <Empty icon="keys" title="No key yet" text="A program calls models with a key. The panel shows lines that do it.">
              {newKey}
            </Empty>
          </Card>
        )}
        <Spend data={data} />
        {keys.length > 0 && <Keys data={data} />}
        <Columns>
          <Budgets data={data} />
          <Limits project={project} />
        </Columns>
        {data.requests && (
          <Card
            flush
            title="Last requests"
            note="of 7 days"
            actions={<Link to={linkTo('requests') + writeFilters({ project: projectId })}>All requests</Link>}
          >
            <LastRequests rows={data.requests} keyName={(id) => keyName(keys, id)} />
          </Card>
        )}
        {data.members && <People members={data.members} />}
      </OnePrecision>
      {asking === 'edit' && <EditProject project={project} onClose={() => setAsking(undefined)} />}
      {asking === 'key' && <NewKey projects={[project]} projectId={projectId} onClose={() => setAsking(undefined)} />}
    </Page>
  );
}

/** Every amount that the page shows rounded, besides the requests, which have a rule of their own. */
function amountsIn({ today, month, byModel, byKey, budgets }: ProjectDetails): (bigint | string)[] {
  const spenders = [byModel, byKey].flatMap((rows) => rows.slice(0, SPENDERS_MAX));
  return [...[today, month, ...spenders].map(({ costPicoUsd }) => costPicoUsd), ...collectMoney(budgets)];
}

function keyName(keys: readonly KeyRow[], keyId: string): string {
  const key = keys.find((one) => one.keyId === keyId);
  return key ? keyTitle(key) : shortId(keyId);
}

function Sums({ data: { today, month, keys, hasMoreKeys } }: { data: ProjectDetails }) {
  const active = keys.filter(({ status }) => status === 'active').length;
  return (
    <Figures>
      <Figure label="Spent today" note={plural(today.requests, 'request')}>
        <Money pico={today.costPicoUsd} />
      </Figure>
      <Figure label="Spent this month" note={plural(month.requests, 'request')}>
        <Money pico={month.costPicoUsd} />
      </Figure>
      <Figure label="Tokens this month" note={`${count(month.cachedTokens)} read from caches`}>
        {count(month.promptTokens + month.outputTokens)}
      </Figure>
      <Figure label="Active keys" note={hasMoreKeys ? `of the first ${count(keys.length)}` : `${count(keys.length)} in all`}>
        {count(active)}
      </Figure>
    </Figures>
  );
}

function Spend({ data: { project, series, byModel, byKey, keys } }: { data: ProjectDetails }) {
  const { linkTo } = useSession();
  const { projectId } = project;
  const now = new Date();
  const usageLink = (filters: object) => linkTo('usage') + writeFilters({ project: projectId, range: 'month', ...filters });
  return (
    <>
      <Card title="Spend this month" note="by day, UTC" actions={<Link to={usageLink({ group: 'model' })}>Usage in detail</Link>}>
        <SpendChart
          usage={{ rows: series, from: Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1), to: now.getTime(), step: 'day' }}
          filters={{ project: projectId }}
        />
      </Card>
      <Columns>
        <Card title="Models" note="by cost, this month">
          <SpendRanking
            rows={byModel}
            group="model"
            formatName={(id) => id}
            linkTo={(model) => usageLink({ model })}
            empty="No requests this month."
          />
        </Card>
        <Card title="Keys" note="by cost, this month">
          <SpendRanking
            rows={byKey}
            group="key"
            formatName={(id) => keyName(keys, id)}
            linkTo={(key) => usageLink({ key })}
            empty="No requests this month."
          />
        </Card>
      </Columns>
    </>
  );
}

/** The keys in use, the last used first. */
function Keys({ data: { project, keys } }: { data: ProjectDetails }) {
  const { linkTo } = useSession();
  const inUse = keys
    .filter((key) => !hasEnded(key))
    .toSorted((one, other) => (other.lastUsedAt ?? other.createdAt).localeCompare(one.lastUsedAt ?? one.createdAt));
  return (
    <Card
      flush
      title="Keys in use"
      note={inUse.length > KEYS_MAX ? `the last used ${KEYS_MAX} of ${count(inUse.length)}` : undefined}
      actions={<Link to={linkTo('keys') + writeFilters({ project: project.projectId })}>All keys</Link>}
    >
      <Table<KeyRow>
        caption="Keys in use"
        rows={inUse.slice(0, KEYS_MAX)}
        rowKey={({ keyId }) => keyId}
        empty={<Empty icon="keys" title="No key is in use" text="All keys of the project have ended." />}
        columns={[
          {
            head: 'Name',
            grow: true,
            cell: (key) => (
              <TwoLines
                main={<Link to={linkTo('keys') + writeFilters({ key: key.keyId })}>{keyTitle(key)}</Link>}
                more={key.createdBy && `by ${key.createdBy}`}
              />
            ),
          },
          {
            head: 'Last use',
            cell: ({ lastUsedAt }) => (lastUsedAt ? relativeTime(lastUsedAt, Date.now()) : 'never'),
          },
          {
            head: 'State',
            cell: (key) => {
              const { tone, state, more } = keyWords(key, Date.now());
              return <TwoLines main={<Badge tone={tone}>{state}</Badge>} more={more} />;
            },
          },
        ]}
      />
    </Card>
  );
}

/** What the project and its keys may spend. */
function Budgets({ data: { budgets, keys } }: { data: ProjectDetails }) {
  const { linkTo, may } = useSession();
  const rootName = (rootKeyId: string) => keyName(keys, keys.findLast((key) => key.rootKeyId === rootKeyId)?.keyId ?? rootKeyId);
  const targetName = ({ keyId, dimension, value }: ProjectDetails['budgets'][number]) => {
    const owner = keyId ? `Key ${rootName(keyId)}` : 'The project';
    return dimension ? `${owner}, ${value ?? `each ${dimension.replace('tag:', '')}`}` : owner;
  };
  return (
    <Card title="Budgets" actions={<Link to={linkTo('budgets')}>{budgets.length > 0 ? 'All budgets' : 'Budgets'}</Link>}>
      {budgets.length === 0 ? (
        <p className={styles.faint}>
          None: only budgets and balance of the account limit what the project spends.{may('budgets') && ' Set one on the page Budgets.'}
        </p>
      ) : (
        <ul className={styles.budgets}>
          {budgets.map((budget) => (
            <li key={budget.budgetId}>
              <BudgetUse budget={budget} name={targetName(budget)} />
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function Limits({ project }: { project: Project }) {
  const {
    requestsPerMinuteMax,
    concurrencyMax,
    tokensPerMinuteMax,
    modelLimits = [],
    tags,
    policy,
    projectId,
    createdAt,
    managedBy,
  } = project;
  return (
    <Card title="Limits" note="its keys share them">
      <dl className={styles.facts}>
        <Fact name="Requests a minute">{count(requestsPerMinuteMax)}</Fact>
        <Fact name="Concurrent requests">{count(concurrencyMax)}</Fact>
        <Fact name="Tokens a minute">{tokensPerMinuteMax === null ? 'no limit' : count(tokensPerMinuteMax)}</Fact>
        {modelLimits.length > 0 && <Fact name="Limits by model">{modelLimits.map(({ model }) => model).join(', ')}</Fact>}
        {tags.length > 0 && <Fact name="Tags">{tags.join(', ')}</Fact>}
        {policy && <Fact name="Policy">{policyWords(policy)}</Fact>}
        {managedBy !== undefined && <Fact name="Managed by">{managedBy}</Fact>}
        <Fact name="Created">{relativeTime(createdAt, Date.now())}</Fact>
        <Fact name="Id">
          <code title={projectId}>{shortId(projectId)}</code>
        </Fact>
      </dl>
    </Card>
  );
}

/** What each role may do with a project. */
const ROLE_RIGHTS: Partial<Record<Role, string>> = {
  owner: 'keys, budgets, members',
  developer: 'keys',
  finance: 'budgets',
  viewer: 'reads',
  'project-developer': 'keys',
  'project-member': 'reads, and the playground',
  'project-viewer': 'reads',
};

function People({ members }: { members: Member[] }) {
  const { linkTo, account, accountName } = useSession();
  const listHeld = ({ grants }: Member) => grants.filter(({ accountId }) => accountId === account);
  const nameRole = ({ role, projectId }: Grant) => (projectId === null ? role : `${ROLE_NAMES[role].toLowerCase()} of this project`);
  return (
    <Card
      flush
      title="People"
      note={`roles in ${accountName(account)} hold in all its projects`}
      actions={<Link to={linkTo('members')}>Members</Link>}
    >
      <Table<Member>
        caption="People who may use the project"
        rows={members.filter(({ disabledAt }) => disabledAt === null)}
        rowKey={({ userId }) => userId}
        empty={
          <Empty icon="members" title="No one has a role in the account" text="People of the whole platform see it too.">
            <ButtonLink to={linkTo('members')}>Invite</ButtonLink>
          </Empty>
        }
        columns={[
          { head: 'Name', grow: true, cell: ({ name, email }) => <TwoLines main={name} more={email} /> },
          { head: 'Role', cell: (member) => listHeld(member).map(nameRole).join(', ') },
          {
            head: 'May change',
            cell: (member) =>
              listHeld(member)
                .flatMap(({ role }) => ROLE_RIGHTS[role] ?? [])
                .join(', '),
          },
        ]}
      />
    </Card>
  );
}
