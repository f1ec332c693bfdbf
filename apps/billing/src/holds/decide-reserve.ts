import type { ReserveOutcome, ReserveRequest } from '#contracts/billing/holds.js';
import { HOLD_MAX } from '#money/price.js';
import { availableOf, takeHold } from '../ledger/funds.js';
import { admitRequest, countRequests, isAhead, retryAfterSeconds, slideWindow } from '../limits/request-window.js';
import type { AccountState, HoldTimes, ProjectState } from './batch.js';
import type { BatchBook, Held } from './batch-book.js';

/** A place frees when any running request ends, which cannot be predicted. */
const CONCURRENCY_RETRY_AFTER_SECONDS = 1;

/**
 * Opens a hold or refuses it, checking in this order: key, requests per minute, concurrency, funds. A repeated reserve is answered with its
 * recorded outcome, even if limits have changed. A different reserve under the id of an open hold is `closed`: its work would not be paid
 * for.
 */
export function decideReserve(book: BatchBook, reserve: ReserveRequest, times: HoldTimes): ReserveOutcome {
  const { holdId } = reserve;
  const account = book.accounts.get(reserve.accountId);
  const project = book.projects.get(reserve.projectId);
  const held = book.held.get(holdId);
  if (book.settlements.has(holdId) || (held && !isSame(held, reserve))) return { status: 'closed', holdId };
  if (held) return { status: 'held', holdId, leaseMs: times.leaseMs };

  if (!account || !project || !mayCall(book, account, project, reserve)) return { status: 'refused', holdId, code: 'invalid_api_key' };
  if (!account.active) return { status: 'refused', holdId, code: 'account_frozen' };
  const window = slideWindow(project.requestWindow, book.now);
  if (isAhead(project.requestWindow, book.now)) {
    project.requestWindow = window;
    book.changed.add(account).add(project); // the version of the account tells other replicas that its projects have changed
  }
  if (countRequests(window) >= project.requestsPerMinuteMax) {
    const limit = project.requestsPerMinuteMax;
    return { status: 'refused', holdId, code: 'rate_limit_exceeded', limit, retryAfterSeconds: retryAfterSeconds(window, limit, book.now) };
  }
  if (project.openHolds >= project.concurrencyMax) {
    const limit = project.concurrencyMax;
    return { status: 'refused', holdId, code: 'concurrency_limit', limit, retryAfterSeconds: CONCURRENCY_RETRY_AFTER_SECONDS };
  }
  const amount = BigInt(reserve.amountPicoUsd);
  const available = availableOf(account.funds);
  if (amount > available || amount > HOLD_MAX) {
    const requiredPicoUsd = reserve.amountPicoUsd;
    return { status: 'refused', holdId, code: 'insufficient_balance', requiredPicoUsd, availablePicoUsd: String(available) };
  }

  // Nothing below can fail.
  const parts = takeHold(account.funds, amount);
  account.openHolds += 1;
  project.openHolds += 1;
  project.requestWindow = admitRequest(window, book.now);
  book.changed.add(account).add(project);
  book.held.set(holdId, { accountId: account.accountId, projectId: project.projectId, amount });
  book.rows.opened.push({ reserve, planPart: parts.plan, grantId: parts.grantId, leaseUntil: book.now + times.leaseMs });
  return { status: 'held', holdId, leaseMs: times.leaseMs };
}

function isSame(held: Held, { accountId, projectId, amountPicoUsd }: ReserveRequest): boolean {
  return held.accountId === accountId && held.projectId === projectId && held.amount === BigInt(amountPicoUsd);
}

function mayCall(book: BatchBook, account: AccountState, project: ProjectState, reserve: ReserveRequest): boolean {
  return project.enabled && project.accountId === account.accountId && book.keys.get(reserve.keyId) === project.projectId;
}
