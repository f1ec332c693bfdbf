import { useState } from 'react';
import type { KeyRow } from '../../../../src/api/shapes/keys.js';
import { useSession } from '../../app/session.js';
import { useFilters } from '../../app/use-filters.js';
import { useNames } from '../../app/use-names.js';
import { Badge } from '../../parts/badge.js';
import { Button, ButtonLink } from '../../parts/button.js';
import { Card } from '../../parts/card.js';
import { Empty } from '../../parts/empty.js';
import { CompactSelect } from '../../parts/field.js';
import { Moment } from '../../parts/moment.js';
import { Page } from '../../parts/page.js';
import { Table, TwoLines } from '../../parts/table.js';
import { relativeTime } from '../../parts/time.js';
import { EditKey } from './edit-key.js';
import { keyTitle, keyWords } from './key-words.js';
import styles from './keys.module.css';
import { NewKey } from './new-key.js';
import { RevokeKey } from './revoke-key.js';
import { RotateKey } from './rotate-key.js';

/** The dialog that is open. */
type Asking = { kind: 'new' } | { kind: 'edit' | 'rotate' | 'revoke'; key: KeyRow };

/** The API keys of an account: making, finding, changing, replacing, revoking. */
export function Keys() {
  const { may, hrefOf } = useSession();
  const { filters, change } = useFilters();
  const { projects, keys, projectName } = useNames();
  const [asking, setAsking] = useState<Asking>();
  const close = () => setAsking(undefined);
  const shown = keys?.filter(({ projectId }) => !filters.project || projectId === filters.project).toReversed();
  const mayChange = may('keys');
  const newKey = (
    <Button look="primary" icon="plus" onClick={() => setAsking({ kind: 'new' })} disabled={!projects}>
      New key
    </Button>
  );
  const hasProjects = (projects?.length ?? 1) > 0;
  return (
    <Page
      title="Keys"
      about="A program sends its key with every request. It belongs to one project, whose limits apply."
      actions={mayChange && hasProjects && newKey}
    >
      <Card
        flush
        actions={
          (projects?.length ?? 0) > 1 && (
            <CompactSelect label="Project" value={filters.project ?? ''} onChange={(event) => change({ project: event.target.value })}>
              <option value="">All projects</option>
              {projects?.map(({ projectId, name }) => (
                <option key={projectId} value={projectId}>
                  {name}
                </option>
              ))}
            </CompactSelect>
          )
        }
      >
        <Table<KeyRow>
          caption="Keys"
          rows={shown}
          rowKey={({ keyId }) => keyId}
          isMuted={({ status }) => status === 'revoked' || status === 'expired'}
          empty={
            hasProjects ? (
              <Empty icon="keys" title="No keys yet">
                <p>Make one: the panel then shows lines that call a model with it.</p>
                {mayChange && newKey}
              </Empty>
            ) : (
              <Empty icon="projects" title="A key belongs to a project">
                <p>Make a project first.</p>
                {may('projects') && (
                  <ButtonLink to={hrefOf('projects')} look="primary">
                    Projects
                  </ButtonLink>
                )}
              </Empty>
            )
          }
          columns={[
            {
              head: 'Name',
              grow: true,
              cell: ({ name, lastFour, note }) => (
                <TwoLines
                  main={name ?? 'Without a name'}
                  more={
                    <>
                      <code>tg_live_…{lastFour}</code>
                      {note && ` · ${note}`}
                    </>
                  }
                />
              ),
            },
            { head: 'Project', wide: true, cell: ({ projectId }) => projectName(projectId) },
            { head: 'Made', wide: true, cell: ({ createdAt }) => <Moment at={createdAt} format="day" /> },
            { head: 'Last use', wide: true, cell: ({ lastUsedAt }) => (lastUsedAt ? relativeTime(lastUsedAt, Date.now()) : 'never') },
            { head: 'State', cell: (key) => <State apiKey={key} /> },
            { head: '', align: 'end', cell: (key) => mayChange && key.status !== 'revoked' && <RowButtons apiKey={key} ask={setAsking} /> },
          ]}
        />
      </Card>
      {asking?.kind === 'new' && projects && <NewKey projects={projects} projectId={filters.project} onClose={close} />}
      {asking?.kind === 'edit' && (
        <EditKey
          apiKey={asking.key}
          onRotate={mayRotate(asking.key) ? () => setAsking({ kind: 'rotate', key: asking.key }) : undefined}
          onRevoke={() => setAsking({ kind: 'revoke', key: asking.key })}
          onClose={close}
        />
      )}
      {asking?.kind === 'rotate' && <RotateKey apiKey={asking.key} onClose={close} />}
      {asking?.kind === 'revoke' && <RevokeKey apiKey={asking.key} onClose={close} />}
    </Page>
  );
}

function State({ apiKey }: { apiKey: KeyRow }) {
  const { tone, state, more } = keyWords(apiKey, Date.now());
  return <TwoLines main={<Badge tone={tone}>{state}</Badge>} more={more} />;
}

function RowButtons({ apiKey, ask }: { apiKey: KeyRow; ask: (asking: Asking) => void }) {
  const name = keyTitle(apiKey);
  return (
    <span className={styles.row}>
      <Button look="quiet" aria-label={`Edit ${name}`} onClick={() => ask({ kind: 'edit', key: apiKey })}>
        Edit
      </Button>
      {mayRotate(apiKey) && (
        <Button look="quiet" aria-label={`Rotate ${name}`} onClick={() => ask({ kind: 'rotate', key: apiKey })}>
          Rotate
        </Button>
      )}
      <Button look="quiet" aria-label={`Revoke ${name}`} onClick={() => ask({ kind: 'revoke', key: apiKey })}>
        Revoke
      </Button>
    </span>
  );
}

/** A key is rotated once, while it is active. */
function mayRotate({ status, replacedBy }: KeyRow): boolean {
  return status === 'active' && replacedBy === null;
}
