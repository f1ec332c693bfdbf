import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { OverviewWarning } from '../../../../src/api/shapes/overview.js';
import { useSession } from '../../app/session.js';
import { plural } from '../../parts/count.js';
import { Icon } from '../../parts/icon.js';
import { Money } from '../../parts/money.js';
import { relativeTime } from '../../parts/time.js';
import styles from './warnings.module.css';

/** Facts that need attention, each with the page that helps. */
export function Warnings({ warnings }: { warnings: OverviewWarning[] }) {
  const { hrefOf, accountName } = useSession();
  if (warnings.length === 0) return null;
  return (
    <ul className={styles.warnings}>
      {warnings.map((warning) => {
        const { text, page, account } = describe(warning, accountName);
        return (
          <li key={JSON.stringify(warning)}>
            <Icon name="warning" />
            <span className={styles.text}>{text}</span>
            {page && <Link to={hrefOf(page, account)}>Look</Link>}
          </li>
        );
      })}
    </ul>
  );
}

function describe(warning: OverviewWarning, accountName: (id: string) => string): { text: ReactNode; page?: string; account?: string } {
  switch (warning.kind) {
    case 'balance-low':
      return {
        text: (
          <>
            {accountName(warning.accountId)} has <Money pico={warning.availablePicoUsd} /> left, below its threshold of{' '}
            <Money pico={warning.lowBalancePicoUsd} />.
          </>
        ),
        page: 'money',
        account: warning.accountId,
      };
    case 'balance-empty':
      return {
        text: `${accountName(warning.accountId)} has no money left. Its requests are refused.`,
        page: 'money',
        account: warning.accountId,
      };
    case 'account-frozen':
      return { text: `${accountName(warning.accountId)} is frozen: ${warning.statusReason ?? 'no reason given'}.`, page: 'ledger' };
    case 'plan-ends':
      return {
        text: (
          <>
            The plan ends {relativeTime(warning.planExpiresAt, Date.now())} with <Money pico={warning.planBalancePicoUsd} /> unused.
          </>
        ),
        page: 'money',
        account: warning.accountId,
      };
    case 'circuit-open':
      return {
        text: `The circuit of ${warning.model} at ${warning.upstream} is open in ${plural(warning.replicas, 'replica')}.`,
        page: 'upstreams',
      };
    case 'ledger-violations':
      return { text: `The last check of the ledger found ${plural(warning.violations, 'violation')}.`, page: 'ledger' };
    case 'service-unavailable':
      return { text: `${warning.service} does not answer, so a warning may be missing.` };
  }
}
