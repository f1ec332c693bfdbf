import { useState } from 'react';
import { NAME_LENGTH_MAX, REASON_LENGTH_MAX } from '#contracts/rules/bounds.js';
import { parseRequestName, REQUEST_ID_FORMS } from '#contracts/rules/request-id.js';
import { renderUsd } from '#money/pico-usd.js';
import type { BilledRequest, CreditNoteBody } from '../../../../src/shapes/billing.js';
import { ApiError, useApi, useChange } from '../../data/api.js';
import { useSession } from '../../data/session.js';
import { exactUsd, readUsd } from '../../format/numbers.js';
import { DialogForm } from '../../parts/dialog.js';
import { AmountField, TextField } from '../../parts/field.js';
import { findCreditable } from './creditable.js';
import styles from './money.module.css';

/** Gives back the cost of a request of the page's account. `of`: its id, which is then not asked for. */
export function CreditNote({ of, onClose }: { of?: BilledRequest; onClose: () => void }) {
  const { account: ofPage, accountName } = useSession();
  const account = of?.accountId ?? ofPage;
  const [entry, setEntry] = useState(() => ({ request: '', usd: '', reason: '', id: `panel-${crypto.randomUUID()}` }));
  const set = (change: Partial<typeof entry>) => setEntry({ ...entry, ...change });
  const found = useNamed(of ? '' : entry.request, account);
  const request = of ?? found.request;
  const creditable = request && findCreditable(request);
  const read = readUsd(entry.usd);
  const amount = read.amount ?? (entry.usd.trim() === '' ? creditable?.left : undefined);
  const isBeyond = read.amount !== undefined && creditable !== undefined && read.amount > creditable.left;
  const making = useChange<unknown>(() => ({
    method: 'POST',
    path: `/accounts/${account}/credit-notes`,
    body: {
      requestId: request?.requestId ?? '',
      noteId: entry.id,
      usd: renderUsd(amount ?? 0n),
      reason: entry.reason,
    } satisfies CreditNoteBody,
  }));
  return (
    <DialogForm
      title={`Credit note: ${accountName(account)}`}
      submit={amount && !isBeyond ? `Give back ${exactUsd(amount)}` : 'Give back'}
      change={making}
      onDone={onClose}
      onClose={onClose}
      disabled={!creditable || Boolean(creditable.refusal) || !amount || isBeyond}
    >
      <p>Gives the cost of a request back, in whole or in part, as money that does not expire. It cannot be undone.</p>
      {!of && (
        <TextField
          label="Request id"
          hint={found.isLooking ? 'Looking for it.' : 'Its own id, or that of its reply or its trace.'}
          fault={found.fault ?? creditable?.refusal ?? null}
          value={entry.request}
          onText={(text) => set({ request: text })}
          autoComplete="off"
          required
        />
      )}
      {of && creditable?.refusal && <p role="alert">{creditable.refusal}</p>}
      <AmountField
        label="Amount in USD"
        hint="Empty: all that was not given back yet."
        value={entry.usd}
        onText={(usd) => set({ usd })}
        read={isBeyond ? { fault: `At most ${exactUsd(creditable.left)} of this request is not given back yet.` } : read}
        isOptional
      />
      <TextField
        label="Reason"
        hint="Shown in the statement."
        value={entry.reason}
        onText={(reason) => set({ reason })}
        maxLength={REASON_LENGTH_MAX}
        required
      />
      <TextField
        label="Note id"
        hint="The same id is booked once."
        value={entry.id}
        onText={(id) => set({ id })}
        maxLength={NAME_LENGTH_MAX}
        required
      />
      <dl className={styles.preview}>
        <dt>Cost of the request</dt>
        <dd>{creditable ? exactUsd(creditable.cost) : '–'}</dd>
        <dt>Given back before</dt>
        <dd>{creditable ? exactUsd(creditable.givenBack) : '–'}</dd>
        <dt>Given back after</dt>
        <dd>{creditable && amount !== undefined && !isBeyond ? exactUsd(creditable.givenBack + amount) : '–'}</dd>
      </dl>
    </DialogForm>
  );
}

/** Looks up the request that a text names, once it has the form of an id. */
function useNamed(text: string, account: string): { request?: BilledRequest; fault?: string; isLooking?: boolean } {
  const typed = text.trim();
  const name = typed === '' ? undefined : parseRequestName(typed);
  const { data, error, isPlaceholderData } = useApi<BilledRequest>(name ? `/requests/${encodeURIComponent(typed)}` : null, {
    handles: ['not_found'],
  });
  if (typed === '') return {};
  if (!name) return { fault: REQUEST_ID_FORMS };
  if (error) return { fault: error instanceof ApiError && error.code === 'not_found' ? 'No request has this id.' : error.message };
  if (!data || isPlaceholderData) return { isLooking: true };
  return data.accountId === account ? { request: data } : { fault: 'This request belongs to another account.' };
}
