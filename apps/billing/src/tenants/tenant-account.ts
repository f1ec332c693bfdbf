import { type Account, pricePlanAt } from '#contracts/billing/accounts.js';
import type { TenantAccount } from '#contracts/billing/tenants.js';
import { createAccount, OWN_LIMITS, renderStoredAccount, updateAccount } from '../accounts/accounts.js';
import { checkModelLimits } from '../limits/set-limits.js';
import { compareFields, type Fields, newFields, normalizeUsd, pickChanged, renderPico, withoutEmpty } from './compare-fields.js';
import type { Planning } from './planning.js';
import { sortLimits, wantedLimits } from './tenant-limits.js';
import type { TenantState, Tx } from './tenant-state.js';

export async function readAccounts(tx: Tx, accountIds: string[]): Promise<Account[]> {
  return (await tx.account.findMany({ where: { id: { in: accountIds } }, include: OWN_LIMITS })).map(renderStoredAccount);
}

export function planAccount(planning: Planning): void {
  const { wanted, state, accountId, now } = planning;
  const fields = wantedAccount(wanted);
  planning.own('account', accountId, state);
  planning.check(['modelLimits'], () => checkModelLimits(wanted.modelLimits ?? []));
  if (wanted.statusReason && wanted.status !== 'frozen') planning.fault(['statusReason'], 'needs the status frozen');
  const changed = compareFields(state ? storedAccount(state.account, now) : { ...NEW_ACCOUNT, name: wanted.name }, fields);
  const hasReason = changed.some(({ field }) => field === 'statusReason');
  const update = { accountId, ...pickChanged(wanted, changed), ...(hasReason && { status: wanted.status }) };
  if (!state) {
    planning.create('account', {}, newFields(fields), async ({ joined, author, maxima }) => {
      await createAccount(joined, { accountId, name: wanted.name }, author, maxima);
      if (changed.length > 0) await updateAccount(joined, update, author);
    });
    return;
  }
  const stale = changed.some(({ field }) => field === 'pricePlan') ? { accountId } : undefined;
  planning.change('account', {}, changed, ({ joined, author }) => updateAccount(joined, update, author), stale);
  if (state.account.status === 'frozen' && wanted.status === undefined) planning.notes.push('the account is frozen, and stays so');
}

export function exportAccount({ account }: TenantState, now: number): Omit<TenantAccount, 'projects'> {
  const { name, status, statusReason, ...settings } = storedAccount(account, now);
  return {
    name: name as string,
    // An active account may be frozen by the auditor: the file must not undo it.
    ...(status === 'frozen' && { status, ...(statusReason !== null && { statusReason: statusReason as string }) }),
    ...withoutEmpty(settings),
  };
}

/** Settings of a new account, except those that are set when it is made. */
const NEW_ACCOUNT: Fields = {
  status: 'active',
  statusReason: null,
  lowBalanceUsd: '0.00',
  creditLineUsd: '0.00',
  pricePlan: null,
  requestsPerMinuteMax: null,
  concurrencyMax: null,
  tokensPerMinuteMax: null,
  modelLimits: [],
};

function storedAccount(account: Account, now: number): Fields {
  const { name, status, statusReason, requestsPerMinuteMax, concurrencyMax, tokensPerMinuteMax, projectsMax, activeKeysMax } = account;
  return {
    ...{ name, status, statusReason },
    lowBalanceUsd: renderPico(account.lowBalancePicoUsd),
    creditLineUsd: renderPico(account.creditLinePicoUsd),
    pricePlan: pricePlanAt(account, now),
    ...{ requestsPerMinuteMax, concurrencyMax, tokensPerMinuteMax, modelLimits: sortLimits(account.modelLimits ?? []) },
    ...{ projectsMax, activeKeysMax },
  };
}

function wantedAccount(wanted: TenantAccount): Fields {
  const { name, status, statusReason, lowBalanceUsd, creditLineUsd, pricePlan, projectsMax, activeKeysMax } = wanted;
  const amounts = { lowBalanceUsd: normalizeUsd(lowBalanceUsd), creditLineUsd: normalizeUsd(creditLineUsd) };
  return { name, status, statusReason, ...amounts, pricePlan, ...wantedLimits(wanted), projectsMax, activeKeysMax };
}
