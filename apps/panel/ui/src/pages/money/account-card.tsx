import { type ReactNode, useState } from 'react';
import type { AccountListReply, AccountRow } from '../../../../src/shapes/billing.js';
import { useApi } from '../../data/api.js';
import { useSession } from '../../data/session.js';
import { Badge } from '../../parts/badge.js';
import { Button } from '../../parts/button.js';
import { Moment } from '../../parts/moment.js';
import { Money } from '../../parts/money.js';
import { Card, Fact, Skeleton } from '../../parts/page.js';
import { FreezeAccount } from '../accounts/freeze-account.js';
import styles from './account-card.module.css';
import { LowBalance } from './low-balance.js';
import { PricePlan } from './price-plan.js';
import { splitPricePlan } from './price-plan-words.js';

type Setting = 'state' | 'plan' | 'low';

/** The state of an account, the prices that it pays and the amount below which its people are told. */
export function AccountCard() {
  const { account: accountId, may, mayOnPlatform } = useSession();
  const { data } = useApi<AccountListReply>(`/accounts?accountId=${accountId}`);
  const account = data?.accounts.find((row) => row.accountId === accountId);
  const [changing, setChanging] = useState<Setting>();
  const close = () => setChanging(undefined);
  const change = (setting: Setting, text: string, name: string) => (
    <Button look="quiet" aria-label={name} disabled={!account} onClick={() => setChanging(setting)}>
      {text}
    </Button>
  );
  const isFrozen = account?.status === 'frozen';
  const freeze = isFrozen ? change('state', 'Unfreeze', 'Unfreeze the account') : change('state', 'Freeze', 'Freeze the account');
  return (
    <Card title="Account">
      <dl className={styles.settings}>
        <Setting name="State" button={mayOnPlatform('accounts') && freeze}>
          {account && <State account={account} />}
        </Setting>
        <Setting name="Price plan" button={mayOnPlatform('accounts') && change('plan', 'Change', 'Change the price plan')}>
          {account && <Prices account={account} />}
        </Setting>
        <Setting name="Low balance" button={may('notifications') && change('low', 'Change', 'Change the low balance')}>
          {account && <Warning account={account} />}
        </Setting>
      </dl>
      {account && changing === 'state' && <FreezeAccount account={account} onClose={close} />}
      {account && changing === 'plan' && <PricePlan account={account} onClose={close} />}
      {account && changing === 'low' && <LowBalance account={account} onClose={close} />}
    </Card>
  );
}

function Setting({ name, button, children }: { name: string; button: ReactNode; children: ReactNode }) {
  return (
    <Fact name={name}>
      <span className={styles.value}>{children ?? <Skeleton width="8rem" />}</span>
      {button}
    </Fact>
  );
}

function State({ account: { status, statusReason } }: { account: AccountRow }) {
  if (status === 'active') return <Badge tone="good">Active</Badge>;
  return (
    <>
      <Badge tone="bad">Frozen</Badge> {statusReason ?? 'no reason given'}
    </>
  );
}

function Warning({ account: { lowBalancePicoUsd } }: { account: AccountRow }) {
  if (!lowBalancePicoUsd) return 'no warning';
  return (
    <>
      a warning below <Money pico={lowBalancePicoUsd} exact />
    </>
  );
}

function Prices({ account }: { account: AccountRow }) {
  const { now, next } = splitPricePlan(account, Date.now());
  return (
    <>
      {now}
      {next && (
        <>
          , {next.plan} from <Moment at={next.from} />
        </>
      )}
    </>
  );
}
