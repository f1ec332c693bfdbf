import { Link } from 'wouter';
import { parseAmounts } from '#contracts/rules/budget-amounts.js';
import type { Budget } from '../../../src/shapes/billing.js';
import { findTightest, isForEach, PERIODS, renderAmount, shareSpent, type Target } from '../data/budgets.js';
import { useSession } from '../data/session.js';
import { count } from '../format/numbers.js';
import styles from './budget-use.module.css';
import { ratio } from './chart/series.js';
import { Moment } from './moment.js';
import { Money } from './money.js';

/** Shares of a limit from which on its bar is a warning, and is full. */
const WARNS_FROM = 0.8;
const FULL_FROM = 0.995;

/**
 * `$3.20 of $10 this month` and a bar of what is spent, what is held and what is left; `up to $10 each this month` for each of many. `name`:
 * stands before it.
 */
export function BudgetUse({ budget, name, href }: { budget: Budget; name?: string; href?: string }) {
  const { limit, spent: spentAmount, held } = parseAmounts(budget);
  const limitText = renderAmount(budget, limit).replace(/\.00$/, '');
  if (isForEach(budget)) {
    return (
      <div className={styles.line}>
        {name && <span className={styles.name}>{name}</span>}
        <span>
          up to {limitText} each {PERIODS[budget.period].now}
        </span>
      </div>
    );
  }
  const share = shareSpent(budget);
  const tone = share >= FULL_FROM || budget.refusing ? 'bad' : share >= WARNS_FROM ? 'warn' : undefined;
  const [spent, used] = [ratio(spentAmount, limit), ratio(spentAmount + held, limit)];
  const text = (
    <>
      <BudgetAmount budget={budget} amount={spentAmount} /> of {limitText} {PERIODS[budget.period].now}
    </>
  );
  return (
    <div className={styles.use} data-tone={tone}>
      <div className={styles.line}>
        {name && <span className={styles.name}>{name}</span>}
        <span>{href ? <Link to={href}>{text}</Link> : text}</span>
      </div>
      <svg className={styles.bar} aria-hidden="true">
        <rect width="100%" height="4" rx="2" />
        <rect className={styles.held} width={renderWidth(used)} height="4" rx="2" />
        <rect className={styles.spent} width={renderWidth(spent)} height="4" rx="2" />
      </svg>
      {budget.refusing && <Refusing budget={budget} />}
    </div>
  );
}

/** A budget may refuse although much of it seems to be left: what is left does not cover one request. */
function Refusing({ budget }: { budget: Budget }) {
  const { since, requiredPicoUsd, requiredTokens } = budget.refusing ?? {};
  if (since === undefined) return null;
  return (
    <p className={styles.refusing}>
      Refusing since <Moment at={since} named />: a request needed {renderAmount(budget, BigInt(requiredPicoUsd ?? requiredTokens ?? 0))}
    </p>
  );
}

/** An amount of a budget, for tables. `left`: what may be spent, rounded down. */
export function BudgetAmount({ budget, amount, left }: { budget: Budget; amount: bigint; left?: boolean }) {
  return budget.unit === 'tokens' ? count(Number(amount)) : <Money pico={amount} balance={left} plain />;
}

/** The budget of a project or key that refuses first, with a link to all. `budgets` is undefined while they load. */
export function TightestBudget({ budgets, of }: { budgets: Budget[] | undefined; of: Target }) {
  const { linkTo } = useSession();
  const budget = findTightest(budgets, of);
  if (!budget) return budgets && 'none';
  return <BudgetUse budget={budget} href={linkTo('budgets')} />;
}

function renderWidth(share: number): string {
  return `${Math.min(share, 1) * 100}%`;
}
