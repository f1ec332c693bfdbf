import { Link } from 'wouter';
import type { Budget } from '../../../src/api/shapes/budgets.js';
import { PERIODS, shareSpent, type Target, tightestOf } from '../app/budgets.js';
import { useSession } from '../app/session.js';
import styles from './budget-use.module.css';
import { ratio } from './chart/series.js';
import { Money } from './money.js';
import { exactUsd } from './usd.js';

/** Shares of a limit from which on its bar is a warning, and is full. */
const WARNS_FROM = 0.8;
const FULL_FROM = 0.995;

/** `$3.20 of $10 this month` and a bar of what is spent, what is held and what is left. `name`: stands before it. */
export function BudgetUse({ budget, name, href }: { budget: Budget; name?: string; href?: string }) {
  const { limitPicoUsd, spentPicoUsd, heldPicoUsd, period } = budget;
  const share = shareSpent(budget);
  const tone = share >= FULL_FROM ? 'bad' : share >= WARNS_FROM ? 'warn' : undefined;
  const limit = BigInt(limitPicoUsd);
  const [spent, used] = [ratio(BigInt(spentPicoUsd), limit), ratio(BigInt(spentPicoUsd) + BigInt(heldPicoUsd), limit)];
  const text = (
    <>
      <Money pico={spentPicoUsd} decimals={2} plain /> of {exactUsd(limit).replace(/\.00$/, '')} {PERIODS[period].now}
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
        <rect className={styles.held} width={widthOf(used)} height="4" rx="2" />
        <rect className={styles.spent} width={widthOf(spent)} height="4" rx="2" />
      </svg>
    </div>
  );
}

/** The budget of a project or key that refuses first, with a link to all. `budgets` is undefined while they load. */
export function TightestBudget({ budgets, of }: { budgets: Budget[] | undefined; of: Target }) {
  const { hrefOf } = useSession();
  const budget = tightestOf(budgets, of);
  if (!budget) return budgets && 'none';
  return <BudgetUse budget={budget} href={hrefOf('budgets')} />;
}

function widthOf(share: number): string {
  return `${Math.min(share, 1) * 100}%`;
}
