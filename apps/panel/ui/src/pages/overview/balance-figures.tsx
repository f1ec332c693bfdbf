import type { Balance } from '../../../../src/shapes/billing.js';
import { Money } from '../../parts/money.js';
import { Figure, Figures } from '../../parts/page.js';
import { relativeTime } from '../../parts/time.js';

/** The balance of an account and its parts. `exact`: to the last digit; otherwise rounded down. */
export function BalanceFigures({ balance, exact }: { balance: Balance | undefined; exact?: boolean }) {
  return (
    <Figures>
      <Figure big label="Available" note={balance && 'for new requests'}>
        {balance && <Money pico={balance.available_pico_usd} balance exact={exact} />}
      </Figure>
      <Figure label="Held" note={balance && 'by running requests'}>
        {balance && <Money pico={balance.reserved_pico_usd} exact={exact} />}
      </Figure>
      <Figure label="Top-ups" note={balance && 'do not expire'}>
        {balance && <Money pico={balance.topup_balance_pico_usd} balance exact={exact} />}
      </Figure>
      <Figure label="Plan" note={balance && describePlan(balance)}>
        {balance && <Money pico={balance.plan_balance_pico_usd} balance exact={exact} />}
      </Figure>
      {balance?.credit_line_pico_usd && (
        <Figure label="Credit line" note="top-ups may be negative by as much">
          <Money pico={balance.credit_line_pico_usd} balance exact={exact} />
        </Figure>
      )}
    </Figures>
  );
}

/** What plan money is, and what becomes of it. */
function describePlan({ plan_expires_at }: Balance): string {
  if (!plan_expires_at) return 'granted for a time and used first; none now';
  return `used before top-ups; what is left ends ${relativeTime(plan_expires_at, Date.now())}`;
}
