import { useState } from 'react';
import { useLocation } from 'wouter';
import { useFilters, writeFilters } from '../../data/filters.js';
import { addView, findView, parseViews, removeView, type SavedView, VIEW_NAME_MAX } from '../../data/saved-views.js';
import { useSession } from '../../data/session.js';
import { Button } from '../../parts/button.js';
import { Dialog, DialogActions } from '../../parts/dialog.js';
import { CompactSelect, TextField } from '../../parts/field.js';
import styles from './requests.module.css';

/** The saved views of the page: a choice of them, and the button that saves the filters as one, or removes the one that is shown. */
export function SavedViews() {
  const { linkTo } = useSession();
  const [, navigate] = useLocation();
  const { filters } = useFilters();
  const { views, store } = useViews();
  const [isSaving, setSaving] = useState(false);
  const shown = findView(views, filters);
  return (
    <>
      {views.length > 0 && (
        <CompactSelect
          label="Saved view"
          all="Saved views"
          options={views.map(({ name }) => [name, name])}
          value={shown?.name ?? ''}
          onChoose={(name) => navigate(linkTo('requests') + (views.find((view) => view.name === name)?.query ?? ''))}
        />
      )}
      {shown ? (
        <Button look="quiet" onClick={() => store(removeView(views, shown.name))}>
          Remove view
        </Button>
      ) : (
        writeFilters(filters) !== '' && (
          <Button look="quiet" onClick={() => setSaving(true)}>
            Save this view
          </Button>
        )
      )}
      {isSaving && <SaveView views={views} onSave={(name) => store(addView(views, name, filters))} onClose={() => setSaving(false)} />}
    </>
  );
}

function SaveView({ views, onSave, onClose }: { views: readonly SavedView[]; onSave: (name: string) => void; onClose: () => void }) {
  const [name, setName] = useState('');
  const isTaken = views.some((view) => view.name === name.trim());
  return (
    <Dialog title="Save this view" onClose={onClose}>
      <form
        className={styles.wide}
        onSubmit={(event) => {
          event.preventDefault();
          onSave(name);
          onClose();
        }}
      >
        <TextField
          label="Name"
          value={name}
          onText={setName}
          maxLength={VIEW_NAME_MAX}
          required
          autoComplete="off"
          hint={isTaken ? 'It replaces the view of this name.' : 'This browser keeps it. To share the view, send the address of the page.'}
        />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" disabled={name.trim() === ''}>
            Save
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

/** The views of the person and account in this browser. A browser that stores nothing keeps them until the page is left. */
function useViews(): { views: SavedView[]; store: (views: SavedView[]) => void } {
  const { account, me } = useSession();
  const key = `tollgate-request-views/${me.userId}/${account}`;
  const [stored, setStored] = useState<{ key: string; views: SavedView[] }>();
  const views = stored?.key === key ? stored.views : readStored(key);
  const store = (changed: SavedView[]) => {
    setStored({ key, views: changed });
    try {
      localStorage.setItem(key, JSON.stringify(changed));
    } catch {
      // The browser stores nothing, or has no room left.
    }
  };
  return { views, store };
}

function readStored(key: string): SavedView[] {
  try {
    return parseViews(localStorage.getItem(key));
  } catch {
    return [];
  }
}
