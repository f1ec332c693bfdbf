import { useState } from 'react';
import type { Overview } from '../../../../src/shapes/overview.js';
import { useSession } from '../../data/session.js';
import { useApi } from '../../data/use-api.js';
import { Button } from '../../parts/button.js';
import { Page } from '../../parts/page.js';
import { BalanceFigures } from '../overview/balance-figures.js';
import { CreditLine } from './credit-line.js';
import { MoneyOperation, OPERATIONS, type OperationName } from './money-operation.js';
import { StatementCard } from './statement-card.js';

/** The balance of an account, its statements by month, and for operators the operations on it. */
export function MoneyPage() {
  const { account, mayOnPlatform } = useSession();
  const overview = useApi<Overview>(`/accounts/${account}/overview`);
  const [operation, setOperation] = useState<OperationName>();
  const [isSettingLine, setSettingLine] = useState(false);
  const balance = overview.data?.balance ?? undefined;
  return (
    <Page
      title="Money"
      actions={
        <>
          {mayOnPlatform('money.write') &&
            (Object.keys(OPERATIONS) as OperationName[]).map((name) => (
              <Button key={name} look={name === 'topup' ? 'primary' : 'secondary'} onClick={() => setOperation(name)}>
                {OPERATIONS[name].title}
              </Button>
            ))}
          {mayOnPlatform('accounts') && <Button onClick={() => setSettingLine(true)}>Credit line</Button>}
        </>
      }
    >
      <BalanceFigures balance={balance} exact />
      <StatementCard />
      {operation && balance && (
        <MoneyOperation key={operation} name={operation} balance={balance} onClose={() => setOperation(undefined)} />
      )}
      {isSettingLine && balance && <CreditLine balance={balance} onClose={() => setSettingLine(false)} />}
    </Page>
  );
}
