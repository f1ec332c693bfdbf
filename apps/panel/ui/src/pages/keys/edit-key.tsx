import { useState } from 'react';
import { NAME_LENGTH_MAX, NOTE_LENGTH_MAX } from '#contracts/rules/bounds.js';
import type { ApiKey, KeyRow, KeyUpdateBody } from '../../../../src/shapes/keys.js';
import { useChange } from '../../data/use-api.js';
import { Button } from '../../parts/button.js';
import { DialogForm } from '../../parts/dialog-form.js';
import { SelectField, TextField } from '../../parts/field.js';
import { localDay } from '../../parts/time.js';
import { EndField } from './end-field.js';
import { type EndChoice, resolveEnd } from './key-end.js';
import type { KeyAction } from './key-table.js';
import { keyTitle } from './key-words.js';
import styles from './keys.module.css';

interface EditKeyProps {
  apiKey: KeyRow;
  mayRotate: boolean;
  /** Opens another dialog of the key. */
  onAction: (action: KeyAction) => void;
  onClose: () => void;
}

/** Changes name, note, end and state of a key. On narrow screens, where the list has no room for it, it leads to rotating and revoking. */
export function EditKey({ apiKey, mayRotate, onAction, onClose }: EditKeyProps) {
  const { keyId, expiresAt, replacedBy } = apiKey;
  const [name, setName] = useState(apiKey.name ?? '');
  const [note, setNote] = useState(apiKey.note ?? '');
  const [disabled, setDisabled] = useState(apiKey.disabled);
  const [end, setEnd] = useState<EndChoice>(expiresAt ? 'keep' : 'never');
  const saving = useChange<ApiKey>(() => {
    const body: KeyUpdateBody = { name: name || null, note: note || null, disabled, expiresAt: resolveEnd(end, Date.now()) };
    return { method: 'PATCH', path: `/keys/${keyId}`, body };
  });
  return (
    <DialogForm
      title={keyTitle(apiKey)}
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
    </DialogForm>
  );
}
