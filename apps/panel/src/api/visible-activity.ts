import type { EndedRequest } from '#contracts/gateway.js';
import type { Access } from '../permissions/permissions.js';

/**
 * Returns what is recorded of a request, without what the caller may not see: the balance in the sentence of its refusal needs `money.read` in
 * the account, that of a budget, which may be the account's, `usage.read` in all of it, and the reasons of failed calls a role of the platform.
 */
export function visibleActivity(access: Access, activity: EndedRequest): EndedRequest {
  const { attempts, refusal, accountId } = activity;
  const hidesBalance = refusal?.by === 'balance' && !access.may('money.read', accountId ?? null);
  const hidesBudget = refusal?.by === 'budget' && !access.may('usage.read', accountId ?? null);
  const hidesReasons = attempts !== undefined && !access.isPlatformWide;
  return {
    ...activity,
    ...(hidesBalance && { message: 'The account has too little money for the request. Lower the output limit.' }),
    ...(hidesBudget && { message: 'A budget has too little left for the request. Lower the output limit.' }),
    ...(hidesReasons && { attempts: attempts.map(({ reason: _, ...attempt }) => attempt) }),
  };
}
