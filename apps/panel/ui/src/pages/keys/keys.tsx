import { useState } from 'react';
import type { ApiKey } from '../../../../src/api/shapes/keys.js';
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
import { NewKey } from './new-key.js';
import { RevokeKey } from './revoke-key.js';

/** The API keys of an account: making, finding, revoking. */
export function Keys() {
  const { may, hrefOf } = useSession();
  const { filters, change } = useFilters();
  const { projects, keys, projectName } = useNames();
  const [isMaking, setMaking] = useState(false);
  const [revoking, setRevoking] = useState<ApiKey>();
  const shown = keys?.filter(({ projectId }) => !filters.project || projectId === filters.project).toReversed();
  const mayChange = may('keys');
  const newKey = (
    <Button look="primary" icon="plus" onClick={() => setMaking(true)} disabled={!projects}>
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
        <Table<ApiKey>
          caption="Keys"
          rows={shown}
          rowKey={({ keyId }) => keyId}
          isMuted={({ revokedAt }) => revokedAt !== null}
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
              cell: ({ name, lastFour }) => <TwoLines main={name ?? 'Without a name'} more={<code>tg_live_…{lastFour}</code>} />,
            },
            { head: 'Project', wide: true, cell: ({ projectId }) => projectName(projectId) },
            { head: 'Made', wide: true, cell: ({ createdAt }) => <Moment at={createdAt} format="day" /> },
            { head: 'State', cell: ({ revokedAt }) => (revokedAt ? <Badge>Revoked</Badge> : <Badge tone="good">Active</Badge>) },
            {
              head: '',
              align: 'end',
              cell: (key) =>
                mayChange &&
                !key.revokedAt && (
                  <Button look="quiet" onClick={() => setRevoking(key)}>
                    Revoke
                  </Button>
                ),
            },
          ]}
        />
      </Card>
      {isMaking && projects && <NewKey projects={projects} projectId={filters.project} onClose={() => setMaking(false)} />}
      {revoking && <RevokeKey apiKey={revoking} onClose={() => setRevoking(undefined)} />}
    </Page>
  );
}
