import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { KeyRotateBody, KeyRow, KeyUpdateBody, RotatedKey } from '../../../../src/shapes/billing.js';
import { callApi } from '../../data/api.js';
import { isTouched } from '../../data/touched.js';
import { plural } from '../../format/numbers.js';
import { Button } from '../../parts/button.js';
import { CopyLine } from '../../parts/copy-line.js';
import { Dialog, DialogActions, DialogForm, DoneDialog } from '../../parts/dialog.js';
import { SelectField } from '../../parts/field.js';
import { lifetimesUntil } from './key-end.js';
import { mayRotate } from './key-list.js';
import { keyTitle } from './key-words.js';
import { GRACES } from './rotate-key.js';

const DAY_MS = 86_400_000;

export type ManyAction = 'rotate' | 'expire' | 'revoke';

interface ManyKeysProps {
  action: ManyAction;
  keys: KeyRow[];
  projectName: (projectId: string) => string;
  onClose: () => void;
}

/** Rotates, ends or revokes several keys, one after the other, and says what became of each. */
export function ManyKeys({ action, ...props }: ManyKeysProps) {
  switch (action) {
    case 'rotate':
      return <RotateMany {...props} />;
    case 'expire':
      return <ExpireMany {...props} />;
    case 'revoke':
      return <RevokeMany {...props} />;
  }
}

type OfSeveral = Omit<ManyKeysProps, 'action'>;

function RotateMany({ keys, projectName, onClose }: OfSeveral) {
  const [graceSeconds, setGraceSeconds] = useState<number>(86_400);
  const rotated = keys.filter(mayRotate);
  // Made once: keys that are sent twice are made once.
  const [newIds] = useState(() => new Map(rotated.map(({ keyId }) => [keyId, crypto.randomUUID()])));
  const rotating = useEach<RotatedKey>(rotated, ({ keyId }) =>
    callApi('POST', `/keys/${keyId}/rotate`, { body: { newKeyId: newIds.get(keyId), graceSeconds } satisfies KeyRotateBody }),
  );
  const made = rotating.data?.flatMap(({ reply }) => reply ?? []);
  if (rotating.data && made && made.length > 0) {
    const lines = made.map((key) => `${[projectName(key.projectId), keyTitle(key)].map(quote).join(',')},${key.key}`);
    return (
      <DoneDialog title={`Your ${plural(made.length, 'new key')}`} onClose={onClose}>
        {(onCopied) => (
          <>
            <p>Copy them now: project, name and key. The panel cannot show them again.</p>
            <CopyLine text={lines.join('\n')} label="Copy the keys" wrap onCopied={onCopied} />
            <Failures results={rotating.data} />
          </>
        )}
      </DoneDialog>
    );
  }
  const left = keys.length - rotated.length;
  return (
    <DialogForm
      title={`Rotate ${plural(rotated.length, 'key')}`}
      submit={`Rotate ${plural(rotated.length, 'key')}`}
      change={rotating}
      disabled={rotated.length === 0}
      onClose={onClose}
    >
      <p>Each gets a new key with the same project, name, note, end, lists and limits. Both work until the old one ends.</p>
      {left > 0 && <p>{plural(left, 'key')} of the choice cannot be rotated: not active, or replaced before.</p>}
      <SelectField label="The old keys end" options={GRACES} value={graceSeconds} onChoose={setGraceSeconds} />
      <Failures results={rotating.data} />
    </DialogForm>
  );
}

function ExpireMany({ keys, onClose }: OfSeveral) {
  const [days, setDays] = useState(30);
  const ending = useEach(keys, ({ keyId }) =>
    callApi('PATCH', `/keys/${keyId}`, {
      body: { expiresAt: new Date(Date.now() + days * DAY_MS).toISOString() } satisfies KeyUpdateBody,
    }),
  );
  return (
    <DialogForm
      managedBy={listOwners(keys)}
      title={`End ${plural(keys.length, 'key')}`}
      submit="Set the end"
      change={ending}
      onDone={onClose}
      onClose={onClose}
    >
      <p>From that day on, programs with these keys get 401.</p>
      <SelectField
        label="They end"
        options={lifetimesUntil(undefined, Date.now()).map((each) => [each, each === 1 ? 'In a day' : `In ${each} days`] as const)}
        value={days}
        onChoose={setDays}
      />
      <Failures results={ending.data} />
    </DialogForm>
  );
}

function RevokeMany({ keys, onClose }: OfSeveral) {
  const revoking = useEach(keys, ({ keyId }) => callApi('DELETE', `/keys/${keyId}`));
  return (
    <Dialog title={`Revoke ${plural(keys.length, 'key')}?`} onClose={onClose} managedBy={listOwners(keys)}>
      <p>
        Programs with these keys get 401 within seconds, and running requests are stopped and billed for what they received. Revoked keys
        stay revoked.
      </p>
      <ul>
        {keys.map((key) => (
          <li key={key.keyId}>{keyTitle(key)}</li>
        ))}
      </ul>
      <Failures results={revoking.data} />
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button look="danger" busy={revoking.isPending} onClick={() => revoking.mutate(undefined, { onSuccess: onClose })}>
          {`Revoke ${plural(keys.length, 'key')}`}
        </Button>
      </DialogActions>
    </Dialog>
  );
}

/** Names the tenants files that own some of the keys. */
function listOwners(keys: readonly KeyRow[]): string | undefined {
  return [...new Set(keys.flatMap(({ managedBy }) => managedBy ?? []))].join(', ') || undefined;
}

interface Result<Reply> {
  key: KeyRow;
  reply?: Reply;
  error?: Error;
}

/** Changes keys one after the other, whatever became of the others. `mutate` calls `onSuccess` when all were changed. */
function useEach<Reply>(keys: KeyRow[], change: (key: KeyRow) => Promise<Reply>) {
  const client = useQueryClient();
  const [data, setData] = useState<Result<Reply>[]>();
  const changing = useMutation<void, Error>({
    mutationFn: async () => {
      const results: Result<Reply>[] = [];
      for (const key of keys) {
        results.push(
          await change(key).then(
            (reply) => ({ key, reply }),
            (error: Error) => ({ key, error }),
          ),
        );
      }
      setData(results);
      if (results.some(({ error }) => error)) throw new Error('not all');
    },
    onSettled: () => client.invalidateQueries({ predicate: ({ queryKey }) => isTouched(`${queryKey.at(-1)}`, '/keys/') }),
  });
  const mutate = (_: undefined, options?: { onSuccess?: (() => void) | undefined }) =>
    changing.mutate(undefined, { onSuccess: () => options?.onSuccess?.() });
  // The failures of single keys are shown beside their names.
  return { mutate, data, error: null, isPending: changing.isPending };
}

function Failures({ results = [] }: { results: Result<unknown>[] | undefined }) {
  const failed = results.filter(({ error }) => error);
  if (failed.length === 0) return null;
  return (
    <ul role="alert">
      {failed.map(({ key, error }) => (
        <li key={key.keyId}>
          {keyTitle(key)}: {error?.message}
        </li>
      ))}
    </ul>
  );
}

/** A cell of CSV. */
function quote(text: string): string {
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
