import type { Movement, MovementKind } from '#contracts/billing/movements.js';
import type { UsageRow } from '#contracts/billing/usage.js';
import type { Statement, StatementLine } from '../../shapes/billing.js';

const DAY_MS = 24 * 3_600_000;

/** Journal entries of a month. */
export interface StatementEntries {
  opening: bigint;
  /** In any order. */
  movements: readonly Movement[];
  /** Usage by day: `start` is midnight UTC. */
  days: readonly UsageRow[];
}

/** Part of the balance that each kind of movement changes. */
const SIDES: Record<MovementKind, 'in' | 'out' | 'forfeited'> = {
  topup: 'in',
  grant: 'in',
  credit: 'in',
  'credit-note': 'in',
  refund: 'out',
  debit: 'out',
  forfeit: 'forfeited',
};

/** Returns the statement whose lines lead from the opening to the closing amount. Integers of pico-USD, nothing is rounded. */
export function makeStatement(
  period: Pick<Statement, 'accountId' | 'month' | 'from' | 'to' | 'isClosed'>,
  { opening, movements, days }: StatementEntries,
): Statement {
  const sums = { in: 0n, out: 0n, cost: 0n, forfeited: 0n };
  for (const { kind, amountPicoUsd } of movements) sums[SIDES[kind]] += magnitude(BigInt(amountPicoUsd));
  for (const { costPicoUsd, forfeitedPicoUsd } of days) {
    sums.cost += BigInt(costPicoUsd);
    sums.forfeited += BigInt(forfeitedPicoUsd);
  }
  let balance = opening;
  const lines = [...movements.map(movementLine), ...days.flatMap(usageLines)]
    .sort((one, other) => one.order - other.order)
    .map(({ order: _, amount, ...line }): StatementLine => {
      balance += amount;
      return { ...line, amountPicoUsd: String(amount), balancePicoUsd: String(balance) };
    });
  return {
    ...period,
    openingPicoUsd: String(opening),
    inPicoUsd: String(sums.in),
    outPicoUsd: String(sums.out),
    costPicoUsd: String(sums.cost),
    forfeitedPicoUsd: String(sums.forfeited),
    closingPicoUsd: String(opening + sums.in - sums.out - sums.cost - sums.forfeited),
    lines,
  };
}

type UnsummedLine = Omit<StatementLine, 'amountPicoUsd' | 'balancePicoUsd'> & {
  amount: bigint;
  /** Milliseconds since 1970. */
  order: number;
};

function movementLine({ kind, createdAt, amountPicoUsd, reference, reason }: Movement): UnsummedLine {
  return { at: createdAt, kind, reference, reason, requests: null, amount: BigInt(amountPicoUsd), order: Date.parse(createdAt) };
}

/** The requests of a day stand after its movements: the balance between them is then never below the true one, so never negative. */
function usageLines({ start = '', requests, costPicoUsd, forfeitedPicoUsd }: UsageRow): UnsummedLine[] {
  const day = { at: start, reference: null, order: Date.parse(start) + DAY_MS - 0.5 };
  const usage = { ...day, kind: 'usage', reason: null, requests, amount: -BigInt(costPicoUsd) } as const;
  if (BigInt(forfeitedPicoUsd) === 0n) return [usage];
  const reason = 'Plan money that requests held beyond the end of its grant and did not use';
  return [usage, { ...day, kind: 'forfeit', reason, requests: null, amount: -BigInt(forfeitedPicoUsd) }];
}

function magnitude(amount: bigint): bigint {
  return amount < 0n ? -amount : amount;
}
