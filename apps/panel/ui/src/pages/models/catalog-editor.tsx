import { useMutation } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useLocation, useSearch } from 'wouter';
import type {
  CatalogApplyBody,
  CatalogApplyReply,
  CatalogDifferences,
  CatalogGetReply,
  CatalogPlanBody,
  CatalogPlanReply,
} from '../../../../src/shapes/catalog.js';
import { ApiError, callApi, useApi, useChange, withQuery } from '../../data/api.js';
import type { Tone } from '../../data/outcomes.js';
import { useSession } from '../../data/session.js';
import { plural } from '../../format/numbers.js';
import { Badge } from '../../parts/badge.js';
import { Button } from '../../parts/button.js';
import { Dialog, DialogActions } from '../../parts/dialog.js';
import { Icon } from '../../parts/icon.js';
import { Moment } from '../../parts/moment.js';
import { Card, Failure } from '../../parts/page.js';
import { Table, TwoLines } from '../../parts/table.js';
import { formatValue } from '../audit/changes.js';
import styles from './catalog-editor.module.css';
import { changesText, type DifferenceRow, differenceRows } from './differences.js';
import { insertModel } from './insert-model.js';
import { NewModelForm } from './new-model.js';
import { YamlEditor } from './yaml-editor.js';

/** A text that is not applied yet. */
export interface Draft {
  yaml: string;
  /** Revision whose text was changed. */
  revision: number;
  /** First line of an entry that was added for the person. */
  line?: number;
}

/** The catalog file: text → what it would change → apply. */
export function CatalogEditor({ draft, onDraft }: { draft: Draft | undefined; onDraft: (draft: Draft | undefined) => void }) {
  const { mayOnPlatform } = useSession();
  const { data: stored, refetch } = useApi<CatalogGetReply>('/catalog');
  const [isConfirming, setConfirming] = useState(false);
  const [isAdding, setAdding] = useState(false);
  const planning = useMutation<CatalogPlanReply, Error, string>({
    mutationFn: (yaml) => callApi('POST', '/catalog/plan', { body: { yaml } satisfies CatalogPlanBody }),
    onSuccess: ({ revision }) => revision !== stored?.revision && refetch(),
  });
  const applying = useChange<CatalogApplyReply, CatalogApplyBody>((body) => ({ method: 'POST', path: '/catalog/apply', body }));
  const yaml = draft?.yaml ?? stored?.yaml ?? '';
  // A plan is about the text that was sent.
  const plan = planning.variables === yaml ? planning.data : undefined;
  const mayEdit = mayOnPlatform('catalog') && stored?.editing === true;
  useWantedModel(mayEdit ? stored : undefined, onDraft);
  const compare = () => {
    if (yaml) planning.mutate(yaml);
  };
  const startAgain = () => {
    onDraft(undefined);
    planning.reset();
    applying.reset();
  };
  const apply = () =>
    applying.mutate(
      { yaml, fileName: 'panel', expectedRevision: plan?.revision },
      {
        onSuccess: startAgain,
        onSettled: () => setConfirming(false),
        // Another person was first: the new difference shows what an apply would undo.
        onError: (failure) => isStale(failure) && planning.mutate(yaml),
      },
    );
  return (
    <>
      {planning.error && <Failure error={planning.error} />}
      {applying.error && !isStale(applying.error) && <Failure error={applying.error} />}
      {plan && draft && plan.revision !== draft.revision && stored?.revision === plan.revision && (
        <Meanwhile opened={draft.revision} stored={stored} onStartAgain={startAgain} />
      )}
      <Card
        title="Catalog file"
        note={stored && <Origin stored={stored} />}
        actions={
          mayEdit && (
            <>
              {draft && <Button onClick={startAgain}>Discard changes</Button>}
              {yaml && (
                <Button icon="plus" onClick={() => setAdding(true)}>
                  New model
                </Button>
              )}
              <Button look={plan?.changes ? 'secondary' : 'primary'} busy={planning.isPending} disabled={!draft} onClick={compare}>
                Show the difference
              </Button>
            </>
          )
        }
      >
        {stored && !stored.editing && (
          <p className={styles.note}>
            <code>CATALOG_EDITING</code> is off: the catalog service applies its own file alone.
          </p>
        )}
        {stored?.yaml === null && <p className={styles.note}>The text of this revision was not stored. Paste the file that was applied.</p>}
        <YamlEditor
          value={yaml}
          onChange={mayEdit ? (text) => onDraft({ ...draft, yaml: text, revision: draft?.revision ?? stored.revision }) : undefined}
          onSubmit={compare}
          faults={plan?.faults ?? []}
          line={draft?.line}
        />
        {plan && plan.faults.length > 0 && (
          <p className={styles.note}>{plural(plan.faults.length, 'fault')}: nothing can be applied yet.</p>
        )}
      </Card>
      {plan && plan.faults.length === 0 && <Difference plan={plan} onApply={() => setConfirming(true)} />}
      {isAdding && stored && (
        <NewModelForm
          yaml={yaml}
          onInsert={(inserted) => onDraft({ ...inserted, revision: draft?.revision ?? stored.revision })}
          onClose={() => setAdding(false)}
        />
      )}
      {isConfirming && plan?.changes && (
        <ApplyCatalog changes={plan.changes} isApplying={applying.isPending} onApply={apply} onClose={() => setConfirming(false)} />
      )}
    </>
  );
}

/** Drafts a model where the address names one, `upstream` and `model`, and takes both out of it. */
function useWantedModel(stored: CatalogGetReply | undefined, onDraft: (draft: Draft) => void): void {
  const [path, navigate] = useLocation();
  const asked = new URLSearchParams(useSearch());
  const [upstream, model] = [asked.get('upstream'), asked.get('model')];
  useEffect(() => {
    if (!stored?.yaml || !upstream || !model) return;
    onDraft({ ...insertModel(stored.yaml, { upstream, model }), revision: stored.revision });
    navigate(withQuery(path, { tab: 'file' }), { replace: true });
  }, [stored, upstream, model, onDraft, navigate, path]);
}

function Origin({ stored: { revision, at, actor, actorName, scheduledPriceId } }: { stored: CatalogGetReply }) {
  return (
    <>
      revision {revision}, {scheduledPriceId ? 'a scheduled price' : `by ${actorName ?? actor}`}, <Moment at={at} named />
    </>
  );
}

/** Says that the draft was made from an older revision. */
function Meanwhile({ opened, stored, onStartAgain }: { opened: number; stored: CatalogGetReply; onStartAgain: () => void }) {
  return (
    <div role="status" className={styles.meanwhile}>
      <Icon name="warning" />
      <p>
        {stored.actorName ?? stored.actor} applied revision {stored.revision} meanwhile; your text was made from revision {opened}. The
        difference below is that to revision {stored.revision}: applying your text would undo what it changed.
      </p>
      <Button onClick={onStartAgain}>Start again from revision {stored.revision}</Button>
    </div>
  );
}

/** True when the catalog got another revision after the difference was shown. */
function isStale(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'conflict' && error.param === 'expectedRevision';
}

const KINDS: Record<DifferenceRow['what'], { name: string; tone: Tone }> = {
  disabled: { name: 'Disabled', tone: 'bad' },
  added: { name: 'Added', tone: 'good' },
  price: { name: 'Price', tone: 'warn' },
  changed: { name: 'Changed', tone: 'neutral' },
};

/** The difference between a text and the current revision, line by line. */
function Difference({ plan: { revision, changes }, onApply }: { plan: CatalogPlanReply; onApply: () => void }) {
  if (!changes) {
    return (
      <Card title="No difference">
        <p>The text is equal to revision {revision}. Comments and the layout make no difference.</p>
      </Card>
    );
  }
  return (
    <Card
      flush
      title={`Difference to revision ${revision}`}
      note={changesText(changes)}
      actions={
        <Button look="primary" onClick={onApply}>
          Apply
        </Button>
      }
    >
      <Table<DifferenceRow>
        caption="Difference"
        rows={differenceRows(changes)}
        rowKey={({ what, noun, id, field }) => `${what} ${noun} ${id} ${field}`}
        empty={<p className={styles.only}>Only the order of the entries is another.</p>}
        columns={[
          { head: 'Change', cell: ({ what }) => <Badge tone={KINDS[what].tone}>{KINDS[what].name}</Badge> },
          { head: 'Entry', cell: ({ id, noun, field }) => <TwoLines main={id} more={field || noun} /> },
          { head: 'Before', wrap: true, cell: ({ field, before }) => <span className={styles.value}>{field && formatValue(before)}</span> },
          {
            head: 'After',
            grow: true,
            wrap: true,
            cell: ({ field, after }) => <span className={styles.value}>{(field || after !== null) && formatValue(after)}</span>,
          },
        ]}
      />
    </Card>
  );
}

/** Asks before a text becomes the catalog of every gateway. */
function ApplyCatalog({
  changes,
  isApplying,
  onApply,
  onClose,
}: {
  changes: CatalogDifferences;
  isApplying: boolean;
  onApply: () => void;
  onClose: () => void;
}) {
  const { disabled } = changes.models;
  return (
    <Dialog title="Apply to every gateway?" onClose={onClose}>
      <p>{changesText(changes)}.</p>
      {disabled.length > 0 && <p>Requests to these models will be refused: {disabled.join(', ')}.</p>}
      <p>New requests have the change within a second. Requests that run keep the prices of their start.</p>
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button look={disabled.length > 0 ? 'danger' : 'primary'} busy={isApplying} onClick={onApply}>
          Apply
        </Button>
      </DialogActions>
    </Dialog>
  );
}
