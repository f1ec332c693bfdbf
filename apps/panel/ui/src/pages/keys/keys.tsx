import { useState } from 'react';
import { isPlaygroundKey } from '#contracts/rules/playground-keys.js';
import type { BudgetListReply, KeyListReply, KeyRow, UsageQueryReply } from '../../../../src/shapes/billing.js';
import { useApi, withQuery } from '../../data/api.js';
import { collectMoney } from '../../data/budgets.js';
import { useDebounced } from '../../data/debounce.js';
import { type Filters, KEY_KINDS, type KeyKind, resolveSpan, useFilters, useNow } from '../../data/filters.js';
import { mergeRows } from '../../data/merge-rows.js';
import { ROWS_MAX, useNames, useSession } from '../../data/session.js';
import { count, plural } from '../../format/numbers.js';
import { Button, ButtonLink } from '../../parts/button.js';
import { CompactSelect, SearchField } from '../../parts/field.js';
import { Chosen, ProjectFilter } from '../../parts/filter-bar.js';
import { OnePrecision } from '../../parts/money.js';
import { Card, Empty, Page } from '../../parts/page.js';
import { ChildKeys } from './child-keys.js';
import { EditKey, NewKey, RevokeKey } from './key-dialogs.js';
import { hasEnded, isChosen, listCreators, mayDelegate, mayRotate, sortKeys } from './key-list.js';
import { type KeyAction, KeyTable } from './key-table.js';
import styles from './keys.module.css';
import { type ManyAction, ManyKeys } from './many-keys.js';
import { RotateKey } from './rotate-key.js';

/** Groups of one reply of usage, the most that the API has. */
const USAGE_ROWS = 1_000;
/** Keys that a search adds to those that are loaded. */
const FOUND_MAX = 200;

/** The API keys of an account: making, finding, changing, replacing, revoking. */
export function Keys() {
  const { account, may } = useSession();
  const { filters, change } = useFilters();
  const { projects, keys, playgroundKeys, hasMoreKeys, projectName, keyName } = useNames();
  const { data: budgets } = useApi<BudgetListReply>(`/accounts/${account}/budgets`);
  const usage = useKeyUsage(account);
  const [isMaking, setMaking] = useState(false);
  const [asking, setAsking] = useState<{ action: KeyAction; apiKey: KeyRow }>();
  const [asksMany, setAsksMany] = useState<{ action: ManyAction; keys: KeyRow[] }>();
  const [showsEnded, setShowsEnded] = useState(false);
  const [showsPlayground, setShowsPlayground] = useState(false);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const now = useNow(60_000);
  const found = useFoundKeys(hasMoreKeys, filters);
  const known = mergeRows(keys, found, ({ keyId }) => keyId);
  const listed = known && [...known, ...(showsPlayground || filters.key ? (playgroundKeys ?? []) : [])];
  const chosen =
    listed &&
    sortKeys(
      listed.filter((key) => isChosen(key, filters, projectName, now)),
      filters.sort,
      usage,
    );
  const shown = showsEnded || filters.key ? chosen : chosen?.filter((key) => !hasEnded(key));
  const hidden = (chosen?.length ?? 0) - (shown?.length ?? 0);
  const isFiltered = Boolean(filters.search || filters.creator || filters.only || filters.project);
  const mayChange = may('keys');
  const hasProjects = (projects?.length ?? 1) > 0;
  // Keys that a filter hides are no longer chosen.
  const many = shown?.filter(({ keyId, status }) => selected.has(keyId) && status !== 'revoked') ?? [];
  const newKey = mayChange && hasProjects && (
    <Button look="primary" icon="plus" onClick={() => setMaking(true)} disabled={!projects}>
      New key
    </Button>
  );
  return (
    <Page title="Keys" about="A program sends its key with every request. It belongs to one project, whose limits apply." actions={newKey}>
      <search className={styles.filters}>
        <SearchField label="Search keys" value={filters.search ?? ''} onText={(search) => change({ search })} />
        {filters.key && (
          <Chosen onRemove={() => change({ key: undefined })}>
            {found?.find(({ keyId }) => keyId === filters.key)?.name ?? keyName(filters.key)}
          </Chosen>
        )}
        {(projects?.length ?? 0) > 1 && (
          <ProjectFilter projects={projects} value={filters.project} onChoose={(project) => change({ project })} />
        )}
        <CompactSelect
          label="Made by"
          all="Made by anyone"
          options={listCreators(keys ?? []).map((creator) => [creator, creator])}
          value={filters.creator ?? ''}
          onChoose={(creator) => change({ creator })}
        />
        <CompactSelect
          label="Kind"
          all="All kinds"
          options={Object.entries(KEY_KINDS)}
          value={filters.only ?? ''}
          onChoose={(only) => change({ only: only ? (only as KeyKind) : undefined })}
        />
      </search>
      <Card flush>
        {many.length > 0 && (
          <div className={styles.many} role="toolbar" aria-label="Chosen keys">
            <strong>{plural(many.length, 'key')} chosen</strong>
            {(['rotate', 'expire', 'revoke'] as const).map((action) => (
              <Button key={action} look={action === 'revoke' ? 'danger' : 'secondary'} onClick={() => setAsksMany({ action, keys: many })}>
                {MANY[action]}
              </Button>
            ))}
            <Button look="quiet" onClick={() => setSelected(new Set())}>
              Choose none
            </Button>
          </div>
        )}
        <OnePrecision amounts={collectMoney(budgets?.budgets)}>
          <KeyTable
            keys={shown}
            budgets={budgets?.budgets}
            usage={usage}
            projectName={projectName}
            onChildren={(apiKey) => setAsking({ action: 'children', apiKey })}
            onAction={mayChange ? (action, apiKey) => setAsking({ action, apiKey }) : undefined}
            selection={mayChange ? { ids: selected, onChange: setSelected } : undefined}
            sorting={{ by: filters.sort ?? '-made', onSort: (sort) => change({ sort }) }}
            empty={
              isFiltered ? (
                <Empty
                  icon="keys"
                  title="No key fits"
                  text={hidden > 0 ? 'Those that do have ended.' : 'Search for less, or remove a filter.'}
                />
              ) : hasProjects ? (
                <Empty icon="keys" title={hidden > 0 ? 'No keys in use' : 'No keys yet'}>
                  <p>Create one: the panel then shows lines that call a model with it.</p>
                  {newKey}
                </Empty>
              ) : (
                <NoProjects />
              )
            }
          />
        </OnePrecision>
      </Card>
      <div className={styles.hidden}>
        {hidden > 0 && <Button onClick={() => setShowsEnded(true)}>{`Show ${plural(hidden, 'ended key')}`}</Button>}
        {(playgroundKeys?.length ?? 0) > 0 && !showsPlayground && (
          <Button
            look="quiet"
            onClick={() => setShowsPlayground(true)}
          >{`Show ${plural(playgroundKeys?.length ?? 0, 'key')} of the playground`}</Button>
        )}
        {hasMoreKeys && (
          <p>These are the first {count(ROWS_MAX)} keys of the account. Search finds the others by name, note or last four characters.</p>
        )}
      </div>
      {isMaking && projects && <NewKey projects={projects} projectId={filters.project} onClose={() => setMaking(false)} />}
      {asking && (
        <KeyDialog
          {...asking}
          mayChange={mayChange}
          hasChildren={mayDelegate(asking.apiKey, budgets?.budgets ?? [])}
          onAction={(action) => setAsking({ ...asking, action })}
          onClose={() => setAsking(undefined)}
        />
      )}
      {asksMany && (
        <ManyKeys
          {...asksMany}
          projectName={projectName}
          onClose={() => {
            setAsksMany(undefined);
            setSelected(new Set());
          }}
        />
      )}
    </Page>
  );
}

/** The keys that fit the search, or the one of the address, where the pages do not load all. Undefined: none is asked for. */
function useFoundKeys(hasMore: boolean, { key, search }: Filters): KeyRow[] | undefined {
  const { account } = useSession();
  const asked = useDebounced(search?.trim());
  const question = key ? { keyId: key } : asked ? { search: asked, limit: FOUND_MAX } : undefined;
  const { data } = useApi<KeyListReply>(hasMore && question ? withQuery(`/accounts/${account}/keys`, question) : null);
  return question && data?.keys.filter((one) => !isPlaygroundKey(one));
}

const MANY: Record<ManyAction, string> = { rotate: 'Rotate', expire: 'Set an end', revoke: 'Revoke' };

/** Requests and cost of each key in the last 30 days. */
function useKeyUsage(account: string) {
  const { from } = resolveSpan({ range: '30d' }, useNow(60_000), '30d');
  const question = { from: new Date(from).toISOString(), groupBy: 'key', limit: USAGE_ROWS };
  const { data } = useApi<UsageQueryReply>(withQuery(`/accounts/${account}/usage`, question));
  return data && new Map(data.rows.map((row) => [row.keyId ?? '', row]));
}

function NoProjects() {
  const { may, linkTo } = useSession();
  return (
    <Empty icon="projects" title="A key belongs to a project" text="Create a project first.">
      {may('projects') && (
        <ButtonLink to={linkTo('projects')} look="primary">
          Projects
        </ButtonLink>
      )}
    </Empty>
  );
}

interface KeyDialogProps {
  action: KeyAction;
  apiKey: KeyRow;
  mayChange: boolean;
  hasChildren: boolean;
  onAction: (action: KeyAction) => void;
  onClose: () => void;
}

function KeyDialog({ action, apiKey, mayChange, hasChildren, onAction, onClose }: KeyDialogProps) {
  switch (action) {
    case 'edit':
      return <EditKey apiKey={apiKey} mayRotate={mayRotate(apiKey)} hasChildren={hasChildren} onAction={onAction} onClose={onClose} />;
    case 'children':
      return <ChildKeys apiKey={apiKey} mayChange={mayChange} onClose={onClose} />;
    case 'rotate':
      return <RotateKey apiKey={apiKey} onClose={onClose} />;
    case 'revoke':
      return <RevokeKey apiKey={apiKey} onClose={onClose} />;
  }
}
