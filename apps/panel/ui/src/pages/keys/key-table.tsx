import type { ReactNode } from 'react';
import type { Budget, KeyRow } from '../../../../src/shapes/billing.js';
import { Badge } from '../../parts/badge.js';
import { TightestBudget } from '../../parts/budget-use.js';
import { Button } from '../../parts/button.js';
import { Moment } from '../../parts/moment.js';
import { Table, TwoLines } from '../../parts/table.js';
import { relativeTime } from '../../parts/time.js';
import { keyTitle, keyWords } from './key-words.js';
import styles from './keys.module.css';

export type KeyAction = 'edit' | 'rotate' | 'revoke';

interface KeyTableProps {
  /** Undefined while loading. */
  keys: KeyRow[] | undefined;
  /** Undefined while loading. */
  budgets: Budget[] | undefined;
  projectName: (projectId: string) => string;
  /** Opens the dialog of an action. Absent: the person may only read. */
  onAction: ((action: KeyAction, key: KeyRow) => void) | undefined;
  empty: ReactNode;
}

export function KeyTable({ keys, budgets, projectName, onAction, empty }: KeyTableProps) {
  return (
    <Table<KeyRow>
      caption="Keys"
      rows={keys}
      rowKey={({ keyId }) => keyId}
      isMuted={hasEnded}
      empty={empty}
      columns={[
        { head: 'Name', grow: true, cell: (key) => <TwoLines main={key.name ?? 'Unnamed'} more={<Hint apiKey={key} />} /> },
        { head: 'Project', wide: true, cell: ({ projectId }) => projectName(projectId) },
        {
          head: 'Made',
          wide: true,
          cell: ({ createdAt, createdBy }) => (
            <TwoLines main={<Moment at={createdAt} format="day" />} more={createdBy && `by ${createdBy}`} />
          ),
        },
        { head: 'Last use', wide: true, cell: ({ lastUsedAt }) => (lastUsedAt ? relativeTime(lastUsedAt, Date.now()) : 'never') },
        { head: 'Budget', wide: true, cell: ({ rootKeyId }) => <TightestBudget budgets={budgets} of={{ keyId: rootKeyId }} /> },
        { head: 'State', cell: (key) => <State apiKey={key} /> },
        {
          head: '',
          align: 'end',
          cell: (key) => onAction && key.status !== 'revoked' && <RowButtons apiKey={key} onAction={(action) => onAction(action, key)} />,
        },
      ]}
    />
  );
}

export function hasEnded({ status }: KeyRow): boolean {
  return status === 'revoked' || status === 'expired';
}

/** A key is rotated once, while it is active. */
export function mayRotate({ status, replacedBy }: KeyRow): boolean {
  return status === 'active' && replacedBy === null;
}

function Hint({ apiKey: { lastFour, note } }: { apiKey: KeyRow }) {
  return (
    <>
      <code>tg_live_…{lastFour}</code>
      {note && ` · ${note}`}
    </>
  );
}

function State({ apiKey }: { apiKey: KeyRow }) {
  const { tone, state, more } = keyWords(apiKey, Date.now());
  return <TwoLines main={<Badge tone={tone}>{state}</Badge>} more={more} />;
}

function RowButtons({ apiKey, onAction }: { apiKey: KeyRow; onAction: (action: KeyAction) => void }) {
  const name = keyTitle(apiKey);
  return (
    <span className={styles.row}>
      <Button look="quiet" aria-label={`Edit ${name}`} onClick={() => onAction('edit')}>
        Edit
      </Button>
      {mayRotate(apiKey) && (
        <Button look="quiet" aria-label={`Rotate ${name}`} onClick={() => onAction('rotate')}>
          Rotate
        </Button>
      )}
      <Button look="quiet" aria-label={`Revoke ${name}`} onClick={() => onAction('revoke')}>
        Revoke
      </Button>
    </span>
  );
}
