import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useSearch } from 'wouter';
import { renderUsd } from '#money/pico-usd.js';
import type { AutoTopup, AutoTopupBody, CardPayments, CheckoutBody, CheckoutCreateReply } from '../../../../src/shapes/payments.js';
import { useApi, useChange } from '../../data/api.js';
import { useSession } from '../../data/session.js';
import { exactUsd, readUsd } from '../../format/numbers.js';
import { Button } from '../../parts/button.js';
import { Confirm, DialogForm } from '../../parts/dialog.js';
import { AmountField, CheckField } from '../../parts/field.js';
import { Icon } from '../../parts/icon.js';
import { Card, Figure, Figures } from '../../parts/page.js';
import { describeCap, describeCard, describeFault } from './auto-topup-words.js';
import styles from './money.module.css';

type OpenDialog = 'add' | 'auto' | 'end';

/** Time in which the page looks for a payment after the return from Stripe, and between two looks. */
const LOOK_MS = 60_000;
const LOOK_EVERY_MS = 3_000;

/**
 * Adds money by card, and shows and sets automatic top-ups. Absent where the operator does not offer them: so it has no skeleton before that is
 * known, except after the return from Stripe.
 */
export function CardPaymentsCard() {
  const { account, may } = useSession();
  const { data } = useApi<CardPayments>(`/accounts/${account}/card-payments`);
  const isBack = new URLSearchParams(useSearch()).get('payment') === 'done';
  useNewMoney(isBack);
  const [dialog, setDialog] = useState<OpenDialog>();
  const close = () => setDialog(undefined);
  if (data ? !data.offered : !isBack) return null;
  // The data of the account before stays until those of this one are there.
  const autoTopup = data?.autoTopup?.accountId === account ? data.autoTopup : undefined;
  const fault = autoTopup && describeFault(autoTopup);
  return (
    <Card
      title="Payments by card"
      actions={
        autoTopup &&
        may('payments') && (
          <>
            {(autoTopup.rule || autoTopup.card) && <Button onClick={() => setDialog('end')}>End automatic top-ups</Button>}
            <Button onClick={() => setDialog('auto')}>Automatic top-up</Button>
            <Button look="primary" onClick={() => setDialog('add')}>
              Add money
            </Button>
          </>
        )
      }
    >
      {isBack && (
        <p role="status" className={styles.notice}>
          Back from Stripe. What was paid is added as soon as Stripe confirms it, usually within seconds.
        </p>
      )}
      {fault && (
        <p className={styles.notice} data-tone="warn">
          <Icon name="warning" />
          {fault}
        </p>
      )}
      <Facts autoTopup={autoTopup} />
      {autoTopup && dialog === 'add' && <AddMoney autoTopup={autoTopup} onClose={close} />}
      {autoTopup && dialog === 'auto' && <SetAutoTopup autoTopup={autoTopup} onClose={close} />}
      {dialog === 'end' && (
        <Confirm
          title="End automatic top-ups"
          text="Nothing is paid without a person any more, and the stored card is forgotten here."
          action="End automatic top-ups"
          path={`/accounts/${account}/auto-topup`}
          onClose={close}
        />
      )}
    </Card>
  );
}

/** Loads the page again and again for a minute: the event of Stripe that adds the money may come after the person. */
function useNewMoney(isExpected: boolean) {
  const client = useQueryClient();
  useEffect(() => {
    if (!isExpected) return;
    const looking = setInterval(() => void client.invalidateQueries(), LOOK_EVERY_MS);
    const ending = setTimeout(() => clearInterval(looking), LOOK_MS);
    return () => {
      clearInterval(looking);
      clearTimeout(ending);
    };
  }, [client, isExpected]);
}

function Facts({ autoTopup }: { autoTopup: AutoTopup | undefined }) {
  const { rule, card, monthPicoUsd } = autoTopup ?? {};
  const dollars = (amount: string) => exactUsd(BigInt(amount));
  return (
    <Figures>
      <Figure
        label="Automatic top-up"
        note={autoTopup && (rule ? `when less than ${dollars(rule.thresholdPicoUsd)} is available` : 'nothing is paid without a person')}
      >
        {autoTopup && (rule ? dollars(rule.amountPicoUsd) : 'Off')}
      </Figure>
      <Figure label="Automatic this month" note={autoTopup && describeCap(autoTopup)}>
        {monthPicoUsd && dollars(monthPicoUsd)}
      </Figure>
      <Figure label="Stored card" note={autoTopup && (card ? 'at Stripe, for automatic top-ups' : 'store one when you add money')}>
        {autoTopup && (card ? describeCard(card) : 'None')}
      </Figure>
    </Figures>
  );
}

/** Opens the page of Stripe on which the amount is paid. */
function AddMoney({ autoTopup, onClose }: { autoTopup: AutoTopup; onClose: () => void }) {
  const { account, accountName } = useSession();
  const [usd, setUsd] = useState('');
  const [isLeaving, setLeaving] = useState(false);
  const [saveCard, setSaveCard] = useState(autoTopup.rule !== null && autoTopup.card === null);
  const read = readUsd(usd);
  const opening = useChange<CheckoutCreateReply>(() => ({
    method: 'POST',
    path: `/accounts/${account}/checkouts`,
    body: { usd: renderUsd(read.amount ?? 0n), saveCard } satisfies CheckoutBody,
  }));
  const leave = ({ url }: CheckoutCreateReply) => {
    setLeaving(true);
    window.location.assign(url);
  };
  return (
    <DialogForm
      title={`Add money: ${accountName(account)}`}
      submit="Pay by card"
      change={{
        ...opening,
        // The page of Stripe takes a moment to come.
        isPending: opening.isPending || isLeaving,
        mutate: () => opening.mutate(undefined, { onSuccess: leave }),
      }}
      onClose={onClose}
      disabled={!read.amount}
    >
      <p>You pay on a page of Stripe, which leads back here. The money does not expire.</p>
      <AmountField label="Amount in USD" hint="Whole cents." value={usd} onText={setUsd} read={read} placeholder="25.00" />
      <CheckField label="Store the card at Stripe for automatic top-ups" isChecked={saveCard} onCheck={setSaveCard} />
    </DialogForm>
  );
}

function SetAutoTopup({ autoTopup: { rule }, onClose }: { autoTopup: AutoTopup; onClose: () => void }) {
  const { account, accountName } = useSession();
  const initial = (amount: string | undefined) => (amount === undefined ? '' : renderUsd(BigInt(amount)));
  const [threshold, setThreshold] = useState(initial(rule?.thresholdPicoUsd));
  const [amount, setAmount] = useState(initial(rule?.amountPicoUsd));
  const [cap, setCap] = useState(initial(rule?.monthlyCapPicoUsd));
  const read = { threshold: readUsd(threshold), amount: readUsd(amount), cap: readUsd(cap) };
  const saving = useChange<AutoTopup>(() => ({
    method: 'PUT',
    path: `/accounts/${account}/auto-topup`,
    body: {
      thresholdUsd: renderUsd(read.threshold.amount ?? 0n),
      amountUsd: renderUsd(read.amount.amount ?? 0n),
      monthlyCapUsd: renderUsd(read.cap.amount ?? 0n),
    } satisfies AutoTopupBody,
  }));
  return (
    <DialogForm
      title={`Automatic top-up: ${accountName(account)}`}
      submit="Save"
      change={saving}
      onDone={onClose}
      onClose={onClose}
      disabled={!read.threshold.amount || !read.amount.amount || !read.cap.amount}
    >
      <p>The stored card pays when the balance is low, without a person, and never more than the monthly cap.</p>
      <AmountField
        label="When less than this is available"
        value={threshold}
        onText={setThreshold}
        read={read.threshold}
        placeholder="5.00"
      />
      <AmountField label="Top up by" hint="Whole cents." value={amount} onText={setAmount} read={read.amount} placeholder="25.00" />
      <AmountField
        label="At most in a month"
        hint="Months are those of UTC."
        value={cap}
        onText={setCap}
        read={read.cap}
        placeholder="200.00"
      />
    </DialogForm>
  );
}
