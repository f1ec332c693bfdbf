import type { Movement, Statement, StatementLine } from '../../src/shapes/money.js';
import { ACCOUNTS, NOW } from './demo-data.js';
import { type Endpoint, ok } from './demo-endpoint.js';
import { usageOf } from './demo-usage.js';

const DAY_MS = 86_400_000;
const PICO = 1_000_000_000_000n;

const movement = (days: number, kind: Movement['kind'], usd: bigint, reference: string | null, reason: string | null = null): Movement => ({
  movementId: `0195af00-0000-7000-8000-${days.toString(16).padStart(12, '0')}`,
  kind,
  amountPicoUsd: `${usd}`,
  reference,
  grantId: null,
  refundOf: null,
  noteOf: null,
  reason,
  createdAt: new Date(NOW - days * DAY_MS).toISOString(),
});

const MOVEMENTS: Movement[] = [
  movement(1, 'topup', 200n * PICO, 'inv-2026-1187'),
  movement(6, 'credit', 2_500_000_000_000n, 'adj-41', 'Outage on 17 November'),
  movement(12, 'refund', -25n * PICO, 'refund-203', 'Paid twice'),
  movement(12, 'topup', 25n * PICO, 'inv-2026-1102'),
  movement(20, 'grant', 50n * PICO, 'plan-2026-11'),
  movement(20, 'forfeit', -4_118_220_450_000n, null, null),
  movement(31, 'topup', 250n * PICO, 'inv-2026-1004'),
];

function statementOf(accountId: string, month: string): Statement {
  const from = Date.parse(`${month}-01`);
  const start = new Date(from);
  const end = Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1, 1);
  const to = Math.min(end, NOW);
  const inside = MOVEMENTS.filter(({ createdAt }) => Date.parse(createdAt) >= from && Date.parse(createdAt) < to);
  const days = usageOf({ account: accountId, from, to, step: 'day' }).rows;
  const lines = [
    ...inside.map(({ createdAt, kind, amountPicoUsd, reference, reason }) => ({
      at: createdAt,
      kind,
      amountPicoUsd,
      reference,
      reason,
      requests: null,
    })),
    ...days.map(({ start: at = '', costPicoUsd, requests }) => ({
      at,
      kind: 'usage' as const,
      amountPicoUsd: `${-BigInt(costPicoUsd)}`,
      reference: null,
      reason: null,
      requests,
    })),
  ].sort((a, b) => endOf(a) - endOf(b));
  const sum = (of: (amount: bigint, kind: string) => boolean) =>
    lines
      .map((line) => ({ kind: line.kind, amount: BigInt(line.amountPicoUsd) }))
      .reduce((total, { kind, amount }) => total + (of(amount, kind) ? amount : 0n), 0n);
  const closing = BigInt(ACCOUNTS.find((row) => row.accountId === accountId)?.balance.balance_pico_usd ?? 0);
  let balance = closing - sum(() => true);
  const opening = balance;
  return {
    accountId,
    month,
    from: start.toISOString(),
    to: new Date(to).toISOString(),
    isClosed: to === end,
    openingPicoUsd: `${opening}`,
    inPicoUsd: `${sum((amount) => amount > 0n)}`,
    outPicoUsd: `${-sum((_amount, kind) => kind === 'refund' || kind === 'debit')}`,
    costPicoUsd: `${-sum((_amount, kind) => kind === 'usage')}`,
    forfeitedPicoUsd: `${-sum((_amount, kind) => kind === 'forfeit')}`,
    closingPicoUsd: `${closing}`,
    lines: lines.map((line): StatementLine => {
      balance += BigInt(line.amountPicoUsd);
      return { ...line, balancePicoUsd: `${balance}` };
    }),
  };
}

/** The requests of a day count at its end. */
function endOf({ at, kind }: { at: string; kind: string }): number {
  return Date.parse(at) + (kind === 'usage' ? DAY_MS - 1 : 0);
}

export const MONEY: Endpoint[] = [
  ['GET', /^\/accounts\/[^/]+\/movements$/, () => ok({ movements: MOVEMENTS, nextCursor: null })],
  ['GET', /^\/accounts\/([^/]+)\/statements\/([\d-]+)$/, ({ parts: [account = '', month = ''] }) => ok(statementOf(account, month))],
  [
    'POST',
    /^\/accounts\/[^/]+\/(topups|refunds|adjustments|grants)$/,
    () => ({
      status: 403,
      body: { error: { message: 'Confirm that it is you.', type: 'permission_error', param: null, code: 'confirmation_required' } },
    }),
  ],
];
