import { Fragment, type ReactNode } from 'react';
import { Link } from 'wouter';
import { parseAmounts } from '#contracts/rules/budget-amounts.js';
import type { Budget } from '../../../../src/shapes/billing.js';
import type { EndingKey, OverviewWarning } from '../../../../src/shapes/overview.js';
import { PERIODS, renderAmount, shareSpent } from '../../data/budgets.js';
import { writeFilters } from '../../data/filters.js';
import { useSession } from '../../data/session.js';
import { useBudgetTargets } from '../../data/use-budget-targets.js';
import { count, percent, plural } from '../../format/numbers.js';
import { BudgetAmount } from '../../parts/budget-use.js';
import { Icon } from '../../parts/icon.js';
import { Money } from '../../parts/money.js';
import { duration, relativeTime } from '../../parts/time.js';
import { keyTitle } from '../keys/key-words.js';
import styles from './warnings.module.css';

/** Facts that need attention, each with the page that helps. */
export function Warnings({ warnings }: { warnings: OverviewWarning[] }) {
  const { linkTo, accountName } = useSession();
  if (warnings.length === 0) return null;
  return (
    <ul className={styles.warnings}>
      {warnings.map((warning) => {
        const { text, page, account, isBad } = describe(warning, accountName);
        return (
          <li key={warningKey(warning)} data-tone={isBad ? 'bad' : undefined}>
            <Icon name="warning" />
            <span className={styles.text}>{text}</span>
            {page && <Link to={linkTo(page, account)}>{LINKS[page]}</Link>}
          </li>
        );
      })}
    </ul>
  );
}

/** Texts of the links, by page. */
const LINKS = { money: 'Show money', ledger: 'Show ledger', budgets: 'Show budget', keys: 'Show keys', upstreams: 'Show upstreams' };

interface Description {
  text: ReactNode;
  page?: keyof typeof LINKS;
  account?: string;
  /** True when requests fail because of it. */
  isBad?: boolean;
}

/** Stays the same while the time since a failure goes on. */
function warningKey(warning: OverviewWarning): string {
  return warning.kind === 'model-down' ? `${warning.kind} ${warning.model}` : JSON.stringify(warning);
}

function describe(warning: OverviewWarning, accountName: (id: string) => string): Description {
  switch (warning.kind) {
    case 'balance-low':
      return {
        text: (
          <>
            {accountName(warning.accountId)} has <Money pico={warning.availablePicoUsd} balance /> left, below its threshold of{' '}
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
            The plan ends {relativeTime(warning.planExpiresAt, Date.now())} with <Money pico={warning.planBalancePicoUsd} balance /> unused.
          </>
        ),
        page: 'money',
        account: warning.accountId,
      };
    case 'budget-low':
    case 'budget-empty':
      return { text: <BudgetWarning {...warning} />, page: 'budgets', account: warning.accountId };
    case 'keys-end':
      return { text: <EndingKeys keys={warning.keys} />, page: 'keys', account: warning.accountId };
    case 'model-down':
      return { text: <ModelDown {...warning} />, isBad: true, ...(warning.upstreams && { page: 'upstreams' }) };
    case 'route-down':
      return {
        text: `${warning.model} at ${warning.upstream} is down on ${plural(warning.replicas, 'replica')}. Other routes serve the model.`,
        page: 'upstreams',
      };
    case 'ledger-violations':
      return { text: `The last check of the ledger found ${plural(warning.violations, 'violation')}.`, page: 'ledger' };
    case 'service-unavailable':
      return { text: `${warning.service} does not answer, so a warning may be missing.` };
  }
}

/** `upstreams` null: the reader is a customer, who cannot change it. */
function ModelDown({ model, upstreams, detail, failedAgoMs, advice }: Extract<OverviewWarning, { kind: 'model-down' }>) {
  if (upstreams === null) return `The model ${model} is not available now. Its requests fail.`;
  const at = upstreams.length > 0 ? ` at ${upstreams.join(', ')}` : '';
  const failure = detail !== null && failedAgoMs !== null ? ` Last failure ${duration(failedAgoMs)} ago${at}: ${detail}.` : '';
  return `${model} has no working route. Its requests fail.${failure} ${advice ?? ''}`;
}

/** Share of a limit from which on a budget counts as spent. */
const BUDGET_FULL = 0.995;

function BudgetWarning({ kind, budget }: { kind: 'budget-low' | 'budget-empty'; budget: Budget }) {
  const { targetName } = useBudgetTargets();
  const { limit, spent: spentAmount } = parseAmounts(budget);
  const spent = (
    <>
      <BudgetAmount budget={budget} amount={spentAmount} /> of {renderAmount(budget, limit)} {PERIODS[budget.period].now}
    </>
  );
  if (kind === 'budget-low') {
    return (
      <>
        {targetName(budget)} has spent {percent(shareSpent(budget))} of its budget: {spent}.
      </>
    );
  }
  const { requiredPicoUsd, requiredTokens } = budget.refusing ?? {};
  const required = requiredPicoUsd ?? requiredTokens;
  if (required !== undefined && shareSpent(budget) < BUDGET_FULL) {
    return (
      <>
        The budget of {targetName(budget)} refuses requests: {spent} is spent, and one needed {renderAmount(budget, BigInt(required))}.
      </>
    );
  }
  return (
    <>
      {targetName(budget)} has spent its budget: {spent}. Its requests are refused
      {budget.resetsAt && ` until it resets ${relativeTime(budget.resetsAt, Date.now())}`}.
    </>
  );
}

const KEYS_MAX = 4;

/** Names the keys that end first, each with a link to its row. */
function EndingKeys({ keys }: { keys: EndingKey[] }) {
  const { linkTo } = useSession();
  const more = keys.length - KEYS_MAX;
  return (
    <>
      {keys.length === 1 ? 'A key ends soon: ' : `${count(keys.length)} keys end soon: `}
      {keys.slice(0, KEYS_MAX).map((key, at) => (
        <Fragment key={key.keyId}>
          {at > 0 && ', '}
          <Link to={linkTo('keys') + writeFilters({ key: key.keyId })}>{keyTitle(key)}</Link> {relativeTime(key.expiresAt, Date.now())}
        </Fragment>
      ))}
      {more > 0 ? ` and ${count(more)} more.` : '.'}
    </>
  );
}
