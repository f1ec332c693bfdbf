import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Budget, KeyRow } from '../../../../src/shapes/billing.js';
import { writeFilters } from '../../data/filters.js';
import { useSession } from '../../data/session.js';
import { count, decimalsForAll } from '../../format/numbers.js';
import { Badge } from '../../parts/badge.js';
import { TightestBudget } from '../../parts/budget-use.js';
import { Button } from '../../parts/button.js';
import { WithOwner } from '../../parts/managed.js';
import { Moment } from '../../parts/moment.js';
import { Money } from '../../parts/money.js';
import { ProjectLink } from '../../parts/project-link.js';
import { type Column, Table, TwoLines } from '../../parts/table.js';
import { relativeTime } from '../../parts/time.js';
import { hasEnded, type KeyUsage, mayDelegate, mayRotate } from './key-list.js';
import { keyTitle, keyWords } from './key-words.js';
import styles from './keys.module.css';
import { LimitBadges } from './limits-fields.js';

export type KeyAction = 'edit' | 'rotate' | 'children' | 'revoke';

/** The keys that are chosen for an action on several. */
interface Selection {
  ids: ReadonlySet<string>;
  onChange: (ids: ReadonlySet<string>) => void;
}

interface KeyTableProps {
  /** Undefined while loading. */
  keys: KeyRow[] | undefined;
  /** Undefined while loading. */
  budgets: Budget[] | undefined;
  projectName: (projectId: string) => string;
  /** Opens the dialog of an action. Absent: the person may only read. */
  onAction: ((action: KeyAction, key: KeyRow) => void) | undefined;
  /** Opens the child keys of a key. Persons may read those whose keys they may not change. */
  onChildren: (key: KeyRow) => void;
  empty: ReactNode;
  /** Usage of the last 30 days by key. Undefined while loading. */
  usage: ReadonlyMap<string, KeyUsage> | undefined;
  selection: Selection | undefined;
  sorting: { by: string; onSort: (by: string) => void };
}

export function KeyTable({ keys, budgets, projectName, onAction, onChildren, empty, usage, selection, sorting }: KeyTableProps) {
  const decimals = decimalsForAll(keys?.flatMap(({ keyId }) => usage?.get(keyId)?.costPicoUsd ?? []) ?? []);
  return (
    <Table<KeyRow>
      caption="Keys"
      rows={keys}
      rowKey={({ keyId }) => keyId}
      isMuted={hasEnded}
      empty={empty}
      sorting={sorting}
      dense
      columns={[
        ...(selection ? [selectColumn(keys ?? [], selection)] : []),
        {
          head: 'Name',
          grow: true,
          sort: 'name',
          cell: (key) => (
            <TwoLines
              main={key.name ?? 'Unnamed'}
              more={<Hint apiKey={key} project={<ProjectLink projectId={key.projectId} name={projectName(key.projectId)} />} />}
            />
          ),
        },
        { head: 'Limits', wide: true, cell: (key) => <LimitBadges limits={key} none="none" /> },
        {
          head: 'Made',
          wide: true,
          sort: 'made',
          cell: ({ createdAt, createdBy }) => (
            <div className={styles.made}>
              <TwoLines main={<Moment at={createdAt} format="day" />} more={createdBy && <span title={createdBy}>by {createdBy}</span>} />
            </div>
          ),
        },
        {
          head: 'Last use',
          wide: true,
          sort: 'used',
          cell: ({ lastUsedAt }) => (lastUsedAt ? relativeTime(lastUsedAt, Date.now()) : 'never'),
        },
        {
          head: 'Requests,\n30 d',
          align: 'end',
          wide: true,
          sort: 'requests',
          cell: ({ keyId }) => usage && <Requests keyId={keyId} number={usage.get(keyId)?.requests ?? 0} />,
        },
        {
          head: 'Cost,\n30 d',
          align: 'end',
          wide: true,
          sort: 'cost',
          cell: ({ keyId }) => usage && <Money pico={usage.get(keyId)?.costPicoUsd ?? '0'} decimals={decimals} plain />,
        },
        { head: 'Budget', wide: true, cell: ({ rootKeyId }) => <TightestBudget budgets={budgets} of={{ keyId: rootKeyId }} /> },
        { head: 'State', cell: (key) => <State apiKey={key} /> },
        {
          head: '',
          align: 'end',
          cell: (key) =>
            key.status !== 'revoked' && (
              <RowButtons
                apiKey={key}
                onAction={onAction && ((action) => onAction(action, key))}
                onChildren={mayDelegate(key, budgets ?? []) ? () => onChildren(key) : undefined}
              />
            ),
        },
      ]}
    />
  );
}

/** A box in each row that is not revoked, and one for all of them. */
function selectColumn(keys: readonly KeyRow[], { ids, onChange }: Selection): Column<KeyRow> {
  const offered = keys.filter(({ status }) => status !== 'revoked');
  const toggle = (key: KeyRow, isChosen: boolean) => {
    const changed = new Set(ids);
    if (isChosen) changed.add(key.keyId);
    else changed.delete(key.keyId);
    onChange(changed);
  };
  return {
    head: (
      <input
        type="checkbox"
        className={styles.box}
        aria-label="Choose all keys"
        checked={offered.length > 0 && offered.every(({ keyId }) => ids.has(keyId))}
        disabled={offered.length === 0}
        onChange={(event) => onChange(new Set(event.target.checked ? offered.map(({ keyId }) => keyId) : []))}
      />
    ),
    key: 'choose',
    cell: (key) =>
      key.status !== 'revoked' && (
        <input
          type="checkbox"
          className={styles.box}
          aria-label={`Choose ${keyTitle(key)}`}
          checked={ids.has(key.keyId)}
          onChange={(event) => toggle(key, event.target.checked)}
        />
      ),
  };
}

function Hint({ apiKey: { lastFour, note, managedBy }, project }: { apiKey: KeyRow; project: ReactNode }) {
  return (
    <WithOwner by={managedBy}>
      {project} · <code>…{lastFour}</code>
      {note && ` · ${note}`}
    </WithOwner>
  );
}

/** Leads to the requests that it counts. */
function Requests({ keyId, number }: { keyId: string; number: number }) {
  const { linkTo, may } = useSession();
  if (number === 0 || !may('requests.read')) return count(number);
  return <Link to={linkTo('requests') + writeFilters({ key: keyId, range: '30d' })}>{count(number)}</Link>;
}

function State({ apiKey }: { apiKey: KeyRow }) {
  const { tone, state, more } = keyWords(apiKey, Date.now());
  return <TwoLines main={<Badge tone={tone}>{state}</Badge>} more={more} />;
}

interface RowButtonsProps {
  apiKey: KeyRow;
  onAction: ((action: KeyAction) => void) | undefined;
  onChildren: (() => void) | undefined;
}

function RowButtons({ apiKey, onAction, onChildren }: RowButtonsProps) {
  const name = keyTitle(apiKey);
  return (
    <span className={styles.row}>
      {onAction && (
        <Button look="quiet" aria-label={`Edit ${name}`} onClick={() => onAction('edit')}>
          Edit
        </Button>
      )}
      {onChildren && (
        <Button look="quiet" aria-label={`Child keys of ${name}`} onClick={onChildren}>
          Children
        </Button>
      )}
      {onAction && mayRotate(apiKey) && (
        <Button look="quiet" aria-label={`Rotate ${name}`} onClick={() => onAction('rotate')}>
          Rotate
        </Button>
      )}
      {onAction && (
        <Button look="quiet" aria-label={`Revoke ${name}`} onClick={() => onAction('revoke')}>
          Revoke
        </Button>
      )}
    </span>
  );
}
