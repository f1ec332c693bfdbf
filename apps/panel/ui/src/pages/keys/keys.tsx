import { useState } from 'react';
import type { BudgetListReply, KeyRow } from '../../../../src/shapes/billing.js';
import { useApi } from '../../data/api.js';
import { collectMoney } from '../../data/budgets.js';
import { useFilters } from '../../data/filters.js';
import { useNames, useSession } from '../../data/session.js';
import { plural } from '../../format/numbers.js';
import { Button, ButtonLink } from '../../parts/button.js';
import { Chosen, ProjectFilter } from '../../parts/filter-bar.js';
import { OnePrecision } from '../../parts/money.js';
import { Card, Empty, Page } from '../../parts/page.js';
import { EditKey, NewKey, RevokeKey, RotateKey } from './key-dialogs.js';
import { hasEnded, type KeyAction, KeyTable, mayRotate } from './key-table.js';

/** The API keys of an account: making, finding, changing, replacing, revoking. */
export function Keys() {
  const { account, may } = useSession();
  const { filters, change } = useFilters();
  const { projects, keys, projectName, keyName } = useNames();
  const { data: budgets } = useApi<BudgetListReply>(`/accounts/${account}/budgets`);
  const [isMaking, setMaking] = useState(false);
  const [asking, setAsking] = useState<{ action: KeyAction; apiKey: KeyRow }>();
  const [showsEnded, setShowsEnded] = useState(false);
  const chosen = keys
    ?.filter(({ keyId, projectId }) => (!filters.key || keyId === filters.key) && (!filters.project || projectId === filters.project))
    .toReversed();
  const shown = showsEnded || filters.key ? chosen : chosen?.filter((key) => !hasEnded(key));
  const hidden = (chosen?.length ?? 0) - (shown?.length ?? 0);
  const mayChange = may('keys');
  const hasProjects = (projects?.length ?? 1) > 0;
  const newKey = mayChange && hasProjects && (
    <Button look="primary" icon="plus" onClick={() => setMaking(true)} disabled={!projects}>
      New key
    </Button>
  );
  const choice = filters.key ? (
    <Chosen onRemove={() => change({ key: undefined })}>{keyName(filters.key)}</Chosen>
  ) : (
    (projects?.length ?? 0) > 1 && <ProjectFilter projects={projects} value={filters.project} onChoose={(project) => change({ project })} />
  );
  return (
    <Page title="Keys" about="A program sends its key with every request. It belongs to one project, whose limits apply." actions={newKey}>
      <Card flush actions={choice}>
        <OnePrecision amounts={collectMoney(budgets?.budgets)}>
          <KeyTable
            keys={shown}
            budgets={budgets?.budgets}
            projectName={projectName}
            onAction={mayChange ? (action, apiKey) => setAsking({ action, apiKey }) : undefined}
            empty={
              hasProjects ? (
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
      {hidden > 0 && <Button onClick={() => setShowsEnded(true)}>{`Show ${plural(hidden, 'ended key')}`}</Button>}
      {isMaking && projects && <NewKey projects={projects} projectId={filters.project} onClose={() => setMaking(false)} />}
      {asking && <KeyDialog {...asking} onAction={(action) => setAsking({ ...asking, action })} onClose={() => setAsking(undefined)} />}
    </Page>
  );
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
  onAction: (action: KeyAction) => void;
  onClose: () => void;
}

function KeyDialog({ action, apiKey, onAction, onClose }: KeyDialogProps) {
  switch (action) {
    case 'edit':
      return <EditKey apiKey={apiKey} mayRotate={mayRotate(apiKey)} onAction={onAction} onClose={onClose} />;
    case 'rotate':
      return <RotateKey apiKey={apiKey} onClose={onClose} />;
    case 'revoke':
      return <RevokeKey apiKey={apiKey} onClose={onClose} />;
  }
}
