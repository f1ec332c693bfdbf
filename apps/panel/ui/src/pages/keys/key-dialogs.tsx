import { type ReactNode, useState } from 'react';
import { NAME_LENGTH_MAX, NOTE_LENGTH_MAX } from '#contracts/rules/bounds.js';
import type {
  ApiKey,
  CreatedKey,
  KeyCreateBody,
  KeyRotateBody,
  KeyRow,
  KeyUpdateBody,
  Project,
  RotatedKey,
} from '../../../../src/shapes/billing.js';
import type { ModelListReply } from '../../../../src/shapes/catalog.js';
import { useApi, useChange } from '../../data/api.js';
import { listProjects, useSession } from '../../data/session.js';
import { Button } from '../../parts/button.js';
import { CallLines, CopyLine } from '../../parts/copy-line.js';
import { Confirm, DialogForm, DoneDialog } from '../../parts/dialog.js';
import { SelectField, TextField } from '../../parts/field.js';
import { Moment } from '../../parts/moment.js';
import { localDay } from '../../parts/time.js';
import { type EndChoice, lifetimesUntil, resolveEnd } from './key-end.js';
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

/** Makes a key and shows it once, with a call that works. */
export function NewKey({ projects, projectId, onClose }: { projects: Project[]; projectId: string | undefined; onClose: () => void }) {
  // Made once: a form that is sent twice makes one key.
  const [keyId] = useState(() => crypto.randomUUID());
  const [project, setProject] = useState(projectId ?? projects[0]?.projectId ?? '');
  const [name, setName] = useState('');
  const [end, setEnd] = useState<EndChoice>('never');
  const making = useChange<CreatedKey>(() => {
    const expiresAt = resolveEnd(end, Date.now());
    const body: KeyCreateBody = { keyId, ...(name && { name }), ...(expiresAt && { expiresAt }) };
    return { method: 'POST', path: `/projects/${project}/keys`, body };
  });
  if (making.data) return <ShownOnce created={making.data} onClose={onClose} />;
  return (
    <DialogForm title="New key" submit="Create key" change={making} onClose={onClose}>
      <SelectField label="Project" options={listProjects(projects)} value={project} onChoose={setProject} />
      <TextField label="Name" hint="Where the key is used, such as production." value={name} onText={setName} maxLength={NAME_LENGTH_MAX} />
      <EndField label="Ends" value={end} onChange={setEnd} />
    </DialogForm>
  );
}

/** Graces that a person chooses from, in seconds. */
const GRACES = [
  [0, 'At once'],
  [3_600, 'After an hour'],
  [86_400, 'After a day'],
  [7 * 86_400, 'After 7 days'],
  [30 * 86_400, 'After 30 days'],
] as const;

/** Replaces a key by a new one, shows that once, and says until when the old one works. */
export function RotateKey({ apiKey, onClose }: { apiKey: KeyRow; onClose: () => void }) {
  // Made once: a form that is sent twice makes one key.
  const [newKeyId] = useState(() => crypto.randomUUID());
  const [graceSeconds, setGraceSeconds] = useState<number>(86_400);
  const [end, setEnd] = useState<EndChoice>(apiKey.expiresAt ? 'keep' : 'never');
  const rotating = useChange<RotatedKey>(() => {
    const body: KeyRotateBody = { newKeyId, graceSeconds, expiresAt: resolveEnd(end, Date.now()) };
    return { method: 'POST', path: `/keys/${apiKey.keyId}/rotate`, body };
  });
  if (rotating.data) {
    return (
      <ShownOnce created={rotating.data} onClose={onClose}>
        <OldKey rotated={rotating.data} />
      </ShownOnce>
    );
  }
  return (
    <DialogForm title={`Rotate ${keyTitle(apiKey)}`} submit="Rotate key" change={rotating} onClose={onClose}>
      <p>A new key with the same project, name and note takes its place. Both work until the old one ends.</p>
      <SelectField label="The old key ends" options={GRACES} value={graceSeconds} onChoose={setGraceSeconds} />
      <EndField
        label="The new key ends"
        value={end}
        onChange={setEnd}
        keep={apiKey.expiresAt ? `As the old one would have: ${localDay(apiKey.expiresAt)}` : undefined}
      />
    </DialogForm>
  );
}

function OldKey({ rotated: { replaced } }: { rotated: RotatedKey }) {
  const { expiresAt, lastFour } = replaced;
  if (expiresAt === null) return null;
  return (
    <p>
      The old key <code>…{lastFour}</code>{' '}
      {Date.parse(expiresAt) > Date.now() ? (
        <>
          works until <Moment at={expiresAt} />.
        </>
      ) : (
        'has ended.'
      )}
    </p>
  );
}

export function RevokeKey({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  return (
    <Confirm
      title={`Revoke ${keyTitle(apiKey)}?`}
      text="Programs with this key get 401 within seconds, and its running requests are stopped and billed for what they received. A revoked key stays revoked."
      action="Revoke key"
      path={`/keys/${apiKey.keyId}`}
      onClose={onClose}
    />
  );
}

/** A new key, shown once, with calls that work. `children`: what else there is to know. */
function ShownOnce({ created, children, onClose }: { created: CreatedKey; children?: ReactNode; onClose: () => void }) {
  const { me } = useSession();
  const models = useApi<ModelListReply>('/models');
  const model = models.data?.models[0]?.id ?? 'model';
  return (
    <DoneDialog title="Your new key" onClose={onClose}>
      <p>Copy it now. The panel cannot show it again.</p>
      <CopyLine text={created.key} label="Copy the key" wrap />
      {children}
      {/* A call without a model that exists would not work. */}
      <CallLines call={models.isPending ? undefined : { url: me.gatewayUrl, key: created.key, model }} />
    </DoneDialog>
  );
}

interface EndFieldProps {
  label: string;
  value: EndChoice;
  onChange: (choice: EndChoice) => void;
  /** Text of the choice that leaves the end as it is. Absent: it is no choice. */
  keep?: string;
  /** Latest end that the key may have, of a key that was replaced. Absent: any, or none. */
  latest?: string;
}

/** The choice of a key's end. */
function EndField({ label, value, onChange, keep, latest }: EndFieldProps) {
  return (
    <SelectField<EndChoice>
      label={label}
      options={[
        ...(keep ? [['keep', keep] as const] : []),
        ...(latest === undefined ? [['never', 'Never'] as const] : []),
        ...lifetimesUntil(latest, Date.now()).map((days) => [days, days === 1 ? 'In a day' : `In ${days} days`] as const),
      ]}
      value={value}
      onChoose={onChange}
    />
  );
}
