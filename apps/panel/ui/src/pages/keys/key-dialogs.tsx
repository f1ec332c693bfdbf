import { useState } from 'react';
import { NAME_LENGTH_MAX, NOTE_LENGTH_MAX } from '#contracts/rules/bounds.js';
import type { ApiKey, CreatedKey, KeyCreateBody, KeyRow, KeyUpdateBody, Project } from '../../../../src/shapes/billing.js';
import { useChange } from '../../data/api.js';
import { listProjects } from '../../data/session.js';
import { Button } from '../../parts/button.js';
import { Confirm, DialogForm } from '../../parts/dialog.js';
import { SelectField, TextField } from '../../parts/field.js';
import { localDay } from '../../parts/time.js';
import { EndField } from './end-field.js';
import { type EndChoice, resolveEnd } from './key-end.js';
import { changedLimits, chosenLimits, draftLimits } from './key-limits.js';
import type { KeyAction } from './key-table.js';
import { keyTitle } from './key-words.js';
import styles from './keys.module.css';
import { LimitsFields } from './limits-fields.js';
import { ShownOnce } from './shown-once.js';

interface EditKeyProps {
  apiKey: KeyRow;
  mayRotate: boolean;
  hasChildren: boolean;
  /** Opens another dialog of the key. */
  onAction: (action: KeyAction) => void;
  onClose: () => void;
}

/** Changes name, note, end, state and limits of a key. On narrow screens, where the list has no room for them, it leads to the other dialogs. */
export function EditKey({ apiKey, mayRotate, hasChildren, onAction, onClose }: EditKeyProps) {
  const { keyId, expiresAt, replacedBy } = apiKey;
  const [name, setName] = useState(apiKey.name ?? '');
  const [note, setNote] = useState(apiKey.note ?? '');
  const [disabled, setDisabled] = useState(apiKey.disabled);
  const [end, setEnd] = useState<EndChoice>(expiresAt ? 'keep' : 'never');
  const [limits, setLimits] = useState(() => draftLimits(apiKey));
  const saving = useChange<ApiKey>(() => {
    const body: KeyUpdateBody = {
      ...{ name: name || null, note: note || null, disabled, expiresAt: resolveEnd(end, Date.now()) },
      ...changedLimits(apiKey, limits),
    };
    return { method: 'PATCH', path: `/keys/${keyId}`, body };
  });
  return (
    <DialogForm
      title={keyTitle(apiKey)}
      managedBy={apiKey.managedBy}
      submit="Save"
      change={saving}
      onDone={onClose}
      onClose={onClose}
      actions={
        <span className={styles.narrow}>
          <Button look="danger" onClick={() => onAction('revoke')}>
            Revoke
          </Button>
          {mayRotate && <Button onClick={() => onAction('rotate')}>Rotate</Button>}
          {hasChildren && <Button onClick={() => onAction('children')}>Children</Button>}
        </span>
      }
    >
      <TextField label="Name" value={name} onText={setName} maxLength={NAME_LENGTH_MAX} />
      <TextField label="Note" hint="For people: who uses the key, and why." value={note} onText={setNote} maxLength={NOTE_LENGTH_MAX} />
      <SelectField
        label="State"
        options={[
          ['on', 'Enabled'],
          ['off', 'Disabled: it is refused, its running requests are stopped'],
        ]}
        value={disabled ? 'off' : 'on'}
        onChoose={(state) => setDisabled(state === 'off')}
      />
      <EndField
        label="Ends"
        value={end}
        onChange={setEnd}
        keep={expiresAt ? `As it is: ${localDay(expiresAt)}` : undefined}
        latest={replacedBy === null ? undefined : (expiresAt ?? undefined)}
      />
      <LimitsFields draft={limits} onChange={setLimits} operatorLimits={apiKey.operatorLimits} />
    </DialogForm>
  );
}

/** Makes a key and shows it once, with a call that works. */
export function NewKey({ projects, projectId, onClose }: { projects: Project[]; projectId: string | undefined; onClose: () => void }) {
  // Made once: a form that is sent twice makes one key.
  const [keyId] = useState(() => crypto.randomUUID());
  // The last one that was made: a new project needs a key.
  const [project, setProject] = useState(projectId ?? projects.at(-1)?.projectId ?? '');
  const [name, setName] = useState('');
  const [end, setEnd] = useState<EndChoice>('never');
  const [note, setNote] = useState('');
  const [limits, setLimits] = useState(draftLimits);
  const making = useChange<CreatedKey>(() => {
    const expiresAt = resolveEnd(end, Date.now());
    const body: KeyCreateBody = {
      ...{ keyId, ...(name && { name }), ...(note && { note }), ...(expiresAt && { expiresAt }) },
      ...chosenLimits(limits),
    };
    return { method: 'POST', path: `/projects/${project}/keys`, body };
  });
  if (making.data) return <ShownOnce created={making.data} onClose={onClose} />;
  return (
    <DialogForm title="New key" submit="Create key" change={making} onClose={onClose}>
      <SelectField label="Project" options={listProjects(projects)} value={project} onChoose={setProject} />
      <TextField label="Name" hint="Where the key is used, such as production." value={name} onText={setName} maxLength={NAME_LENGTH_MAX} />
      <TextField label="Note" hint="For people: who uses the key, and why." value={note} onText={setNote} maxLength={NOTE_LENGTH_MAX} />
      <EndField label="Ends" value={end} onChange={setEnd} />
      <LimitsFields draft={limits} onChange={setLimits} />
    </DialogForm>
  );
}

export function RevokeKey({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  return (
    <Confirm
      title={`Revoke ${keyTitle(apiKey)}?`}
      text="Programs with this key get 401 within seconds, and its running requests are stopped and billed for what they received. A revoked key stays revoked."
      action="Revoke key"
      path={`/keys/${apiKey.keyId}`}
      managedBy={apiKey.managedBy}
      onClose={onClose}
    />
  );
}
