import { useState } from 'react';
import type { KeyRotateBody, KeyRow, RotatedKey } from '../../../../src/shapes/billing.js';
import { useChange } from '../../data/api.js';
import { DialogForm } from '../../parts/dialog.js';
import { SelectField } from '../../parts/field.js';
import { Moment } from '../../parts/moment.js';
import { localDay } from '../../parts/time.js';
import { EndField } from './end-field.js';
import { type EndChoice, resolveEnd } from './key-end.js';
import { keyTitle } from './key-words.js';
import { LimitBadges } from './limits-fields.js';
import { ShownOnce } from './shown-once.js';

/** Graces that a person chooses from, in seconds. */
export const GRACES = [
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
      <p>A new key takes its place. Both work until the old one ends.</p>
      <p>
        It has the same project, name, note and budgets, and the same models, networks and limits:{' '}
        <LimitBadges limits={apiKey} none="none are set." />
      </p>
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
          works until <Moment at={expiresAt} named />.
        </>
      ) : (
        'has ended.'
      )}
    </p>
  );
}
