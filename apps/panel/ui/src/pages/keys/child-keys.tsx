import { useState } from 'react';
import type { ChildKeyListReply, ChildKeyMintBody, KeyRow, ListedChildKey, MintedChildKey } from '../../../../src/shapes/billing.js';
import { useChange, usePages } from '../../data/api.js';
import { describeChild } from '../../data/child-words.js';
import { readUsd } from '../../format/numbers.js';
import { Badge } from '../../parts/badge.js';
import { Button, MoreButton } from '../../parts/button.js';
import { Confirm, Dialog, DialogActions, DialogForm } from '../../parts/dialog.js';
import { AmountField, AreaField, SelectField } from '../../parts/field.js';
import { Money } from '../../parts/money.js';
import { Empty } from '../../parts/page.js';
import { buttonColumn, Table, TwoLines } from '../../parts/table.js';
import { relativeTime } from '../../parts/time.js';
import { readList } from './key-limits.js';
import { keyTitle } from './key-words.js';
import { ShownOnce } from './shown-once.js';

/** The sums change with every request. */
const REFETCH_MS = 15_000;

interface ChildKeysProps {
  apiKey: KeyRow;
  /** False: the person may only read. */
  mayChange: boolean;
  onClose: () => void;
}

/** The child keys of a key: what each has spent of its limit, making one, revoking one. */
export function ChildKeys({ apiKey, mayChange, onClose }: ChildKeysProps) {
  const [step, setStep] = useState<'list' | 'new' | ListedChildKey>('list');
  const toList = () => setStep('list');
  if (step === 'new') return <NewChildKey apiKey={apiKey} onClose={toList} />;
  if (step !== 'list') return <RevokeChildKey apiKey={apiKey} child={step} onClose={toList} />;
  return <ChildKeyList apiKey={apiKey} mayChange={mayChange} onStep={setStep} onClose={onClose} />;
}

function ChildKeyList({ apiKey, mayChange, onStep, onClose }: ChildKeysProps & { onStep: (step: 'new' | ListedChildKey) => void }) {
  const list = usePages<ChildKeyListReply>(`/keys/${apiKey.keyId}/children`, { refetchMs: REFETCH_MS });
  const children = list.data?.pages.flatMap((page) => page.childKeys);
  return (
    <Dialog title={`Child keys of ${keyTitle(apiKey)}`} onClose={onClose}>
      <p>An agent makes them with the key itself. One that was made over HTTP is here from its first request on, until it ends.</p>
      <Table<ListedChildKey>
        caption="Child keys"
        rows={children}
        placeholders={2}
        rowKey={({ childId }) => childId}
        isMuted={({ isRevoked }) => isRevoked}
        empty={<Empty icon="keys" title="No child keys" />}
        columns={[
          {
            head: 'Child key',
            grow: true,
            wrap: true,
            cell: ({ childId, expiresAt, isRevoked }) => (
              <TwoLines
                main={<code title={childId}>{describeChild(childId)}</code>}
                more={isRevoked ? <Badge>Revoked</Badge> : `ends ${relativeTime(expiresAt, Date.now())}`}
              />
            ),
          },
          {
            head: 'Spent',
            align: 'end',
            cell: ({ spentPicoUsd, heldPicoUsd, limitPicoUsd }) => (
              <TwoLines
                main={
                  <>
                    <Money pico={spentPicoUsd} plain /> of <Money pico={limitPicoUsd} plain />
                  </>
                }
                more={
                  heldPicoUsd !== '0' && (
                    <>
                      <Money pico={heldPicoUsd} plain /> held
                    </>
                  )
                }
              />
            ),
          },
          ...(mayChange
            ? [
                buttonColumn<ListedChildKey>('Revoke', onStep, {
                  has: ({ isRevoked }) => !isRevoked,
                  label: ({ childId }) => `Revoke ${describeChild(childId)}`,
                }),
              ]
            : []),
        ]}
      />
      <MoreButton list={list}>More child keys</MoreButton>
      <DialogActions>
        <Button onClick={onClose}>Close</Button>
        {mayChange && apiKey.status === 'active' && (
          <Button look="primary" icon="plus" onClick={() => onStep('new')}>
            New child key
          </Button>
        )}
      </DialogActions>
    </Dialog>
  );
}

/** Lifetimes that a person chooses from, in seconds. */
const LIFETIMES = [
  [600, '10 minutes'],
  [3_600, 'An hour'],
  [86_400, 'A day'],
  [7 * 86_400, '7 days'],
  [30 * 86_400, '30 days'],
] as const;

/** Makes a child key and shows it once. */
function NewChildKey({ apiKey, onClose }: { apiKey: KeyRow; onClose: () => void }) {
  const [usd, setUsd] = useState('');
  const [seconds, setSeconds] = useState<number>(3_600);
  const [models, setModels] = useState('');
  const read = usd === '' ? {} : readUsd(usd);
  const wanted = readList(models);
  const making = useChange<MintedChildKey>(() => {
    const body: ChildKeyMintBody = {
      seconds,
      ...(read.amount !== undefined && { limitPicoUsd: `${read.amount}` }),
      ...(wanted.length > 0 && { models: wanted }),
    };
    return { method: 'POST', path: `/keys/${apiKey.keyId}/children`, body };
  });
  if (making.data) {
    const created = { key: making.data.key, models: wanted.length > 0 ? wanted : apiKey.models };
    return <ShownOnce title="Your new child key" created={created} onClose={onClose} />;
  }
  return (
    <DialogForm
      title={`New child key of ${keyTitle(apiKey)}`}
      submit="Create child key"
      change={making}
      onClose={onClose}
      disabled={usd !== '' && read.amount === undefined}
    >
      <p>For an agent. It ends by itself, and what it costs counts for the key too.</p>
      <AmountField
        label="Limit in USD"
        value={usd}
        onText={setUsd}
        read={read}
        hint="With all child keys that it makes. Empty: the limit of the budget of child keys."
        placeholder="0.20"
        isOptional
      />
      <SelectField label="Lives for" options={LIFETIMES} value={seconds} onChoose={setSeconds} />
      <AreaField
        label="Models"
        hint="Empty: those of the key. Otherwise some of them, or patterns, one a line."
        value={models}
        onText={setModels}
      />
    </DialogForm>
  );
}

function RevokeChildKey({ apiKey, child: { childId }, onClose }: { apiKey: KeyRow; child: ListedChildKey; onClose: () => void }) {
  return (
    <Confirm
      title={`Revoke ${describeChild(childId)}?`}
      text="Agents with this child key, or with one below it, get 401 within seconds, and their running requests are stopped and billed for what they received. A revoked child key stays revoked."
      action="Revoke child key"
      path={`/keys/${apiKey.keyId}/children/${childId}`}
      onClose={onClose}
    />
  );
}
