import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Account, AccountCreateRequest, AccountUpdateRequest } from '#contracts/billing/accounts.js';
import type { Budget, BudgetRemoveRequest, BudgetSetRequest } from '#contracts/billing/budgets.js';
import type { ApiKey, KeyCreateRequest, KeyRevokeRequest, KeyUpdateRequest } from '#contracts/billing/keys.js';
import type { PlanCancelRequest, PlanSubscribeRequest, PlanSubscription } from '#contracts/billing/plans.js';
import type { Project, ProjectCreateRequest, ProjectUpdateRequest } from '#contracts/billing/projects.js';
import type {
  NewTenantKey,
  TenantAccount,
  TenantBudget,
  TenantChange,
  TenantFault,
  TenantKey,
  TenantProject,
  TenantWebhook,
} from '#contracts/billing/tenants.js';
import type { WebhookAddRequest, WebhookRemoveRequest, WebhookUpdateRequest } from '#contracts/billing/webhooks.js';
import { ServiceError } from '#contracts/service-error.js';
import { parseUsd } from '#money/pico-usd.js';
import { checkBudget } from '../budgets/budgets.js';
import { isTimeZone } from '../calendar/budget-window.js';
import { nameDestination } from '../events/stored-webhook.js';
import { assertDestination } from '../events/webhooks.js';
import { checkModelLimits } from '../limits/set-limits.js';
import {
  type Fields,
  nameBudget,
  nameWantedBudget,
  type StoredWebhook,
  storedAccount,
  storedBudget,
  storedCredit,
  storedKey,
  storedProject,
  storedWebhook,
  wantedAccount,
  wantedBudget,
  wantedCredit,
  wantedKey,
  wantedProject,
  wantedWebhook,
} from './tenant-fields.js';

/** An account with what a tenants file can name of it. Keys are those that are in use; webhooks are the operator's. */
export interface TenantState {
  account: Account;
  credit: PlanSubscription | null;
  projects: Project[];
  keys: ApiKey[];
  budgets: Budget[];
  webhooks: StoredWebhook[];
}

/** Requests of billing, by the function that serves them. */
export interface TenantCalls {
  createAccount: AccountCreateRequest;
  updateAccount: AccountUpdateRequest;
  subscribePlan: PlanSubscribeRequest;
  cancelPlan: PlanCancelRequest;
  createProject: ProjectCreateRequest;
  updateProject: ProjectUpdateRequest;
  addKey: KeyCreateRequest;
  updateKey: KeyUpdateRequest;
  revokeKey: KeyRevokeRequest;
  setBudget: BudgetSetRequest;
  removeBudget: BudgetRemoveRequest;
  addWebhook: WebhookAddRequest;
  updateWebhook: WebhookUpdateRequest;
  removeWebhook: WebhookRemoveRequest;
}

export type TenantCall = { [Name in keyof TenantCalls]: { call: Name; request: TenantCalls[Name] } }[keyof TenantCalls];

/** A difference, with the requests that end it. */
export interface TenantStep {
  change: TenantChange;
  calls: TenantCall[];
}

export interface TenantPlan {
  accountId: string;
  faults: TenantFault[];
  steps: TenantStep[];
  /** Steps that remove whatever the wanted state does not have, for a plan that prunes. */
  removals: TenantStep[];
  notes: string[];
}

type Path = (string | number)[];
type Place = Pick<TenantChange, 'project' | 'key'>;

/** Compares an account with its wanted state. Pure, except for the ids of what is new; those of keys are in `newKeys`. */
export function planTenant(
  wanted: TenantAccount,
  state: TenantState | undefined,
  newKeys: readonly NewTenantKey[] = [],
  now = Date.now(),
): TenantPlan {
  return new Planner(wanted, state, newKeys, now).plan();
}

class Planner {
  private readonly accountId: string;
  private readonly first: TenantStep[] = [];
  private readonly last: TenantStep[] = [];
  private readonly removals: TenantStep[] = [];
  private readonly faults: TenantFault[] = [];
  private readonly notes: string[] = [];

  constructor(
    private readonly wanted: TenantAccount,
    private readonly state: TenantState | undefined,
    private readonly newKeys: readonly NewTenantKey[],
    private readonly now: number,
  ) {
    this.accountId = state?.account.accountId ?? randomUUID();
  }

  plan(): TenantPlan {
    this.planAccount();
    this.planCredit();
    this.planProjects();
    this.planBudgets(this.wanted.budgets, [], {}, { projectId: null, keyId: null });
    this.planWebhooks();
    const { accountId, faults, removals, notes } = this;
    return { accountId, faults, steps: [...this.first, ...this.last], removals, notes };
  }

  private planAccount(): void {
    const { wanted, state, accountId } = this;
    const fields = wantedAccount(wanted);
    this.check(['modelLimits'], () => checkModelLimits(wanted.modelLimits ?? []));
    if (wanted.statusReason && wanted.status !== 'frozen') this.fault(['statusReason'], 'needs the status frozen');
    const before = state && storedAccount(state.account, this.now);
    const changed = compare(before ?? { name: wanted.name, status: 'active', ...NO_ACCOUNT }, fields);
    const names = new Set(changed.map(({ field }) => field));
    // The reason goes with the status.
    if (names.has('statusReason')) names.add('status');
    const update = pick(wanted, names);
    const calls: TenantCall[] = [];
    if (!state) calls.push({ call: 'createAccount', request: { accountId, name: wanted.name } });
    if (names.size > 0) calls.push({ call: 'updateAccount', request: { accountId, ...update } });
    this.step(this.first, state ? 'change' : 'create', 'account', {}, state ? changed : made(fields), calls);
    if (state?.account.status === 'frozen' && wanted.status === undefined) this.notes.push('the account is frozen, and stays so');
  }

  private planCredit(): void {
    const { accountId } = this;
    const { credit } = this.wanted;
    const stored = this.state?.credit;
    if (credit === undefined) return;
    if (credit === null) {
      const fields = stored ? Object.entries(storedCredit(stored)).map(([field, before]) => ({ field, before, after: null })) : [];
      this.step(this.first, 'remove', 'credit', {}, fields, [{ call: 'cancelPlan', request: { accountId } }]);
      return;
    }
    if (parseUsd(credit.usd) === 0n) this.fault(['credit', 'usd'], 'must not be zero');
    if (credit.timeZone !== undefined && !isTimeZone(credit.timeZone)) this.fault(['credit', 'timeZone'], NO_TIME_ZONE);
    const { usd, period, timeZone = stored?.timeZone } = credit;
    const fields = stored ? compare(storedCredit(stored), wantedCredit(credit)) : made(wantedCredit(credit));
    const request = { accountId, usd, period, ...(timeZone !== undefined && { timeZone }) };
    this.step(this.first, stored ? 'change' : 'create', 'credit', {}, fields, [{ call: 'subscribePlan', request }]);
  }

  private planProjects(): void {
    const { projects } = this.wanted;
    if (projects === undefined) return;
    const stored = this.state?.projects ?? [];
    const listed = new Set<string>();
    this.refuseTwice(projects, ['projects'], ({ name }) => name, 'name');
    for (const [index, project] of projects.entries()) {
      const path = ['projects', index];
      const found = this.findProject(project, stored, path);
      if (found) {
        if (listed.has(found.projectId)) this.fault([...path, 'projectId'], 'is that of another project of the list');
        listed.add(found.projectId);
      }
      this.planProject(project, found, path);
    }
    for (const { projectId, name, enabled } of stored) {
      if (listed.has(projectId) || !enabled) continue;
      const fields = [{ field: 'enabled', before: true, after: false }];
      this.step(this.removals, 'remove', 'project', { project: name }, fields, [
        { call: 'updateProject', request: { projectId, enabled: false } },
      ]);
    }
  }

  private findProject({ projectId, name }: TenantProject, stored: readonly Project[], path: Path): Project | undefined {
    if (projectId !== undefined) {
      const found = stored.find((one) => one.projectId === projectId);
      if (!found) this.fault([...path, 'projectId'], 'is that of no project of the account');
      return found;
    }
    const named = stored.filter((one) => one.name === name);
    if (named.length > 1) this.fault([...path, 'name'], `is the name of ${named.length} projects: add the projectId of one`);
    return named[0];
  }

  private planProject(wanted: TenantProject, stored: Project | undefined, path: Path): void {
    const { accountId } = this;
    const projectId = stored?.projectId ?? randomUUID();
    const place = { project: wanted.name };
    this.check([...path, 'modelLimits'], () => checkModelLimits(wanted.modelLimits ?? []));
    const fields = wantedProject(wanted);
    if (stored) {
      const changed = compare(storedProject(stored), fields);
      const update = pick(wanted, new Set(changed.map(({ field }) => field)));
      this.step(this.last, 'change', 'project', place, changed, [{ call: 'updateProject', request: { ...update, projectId } }]);
      if (!stored.enabled && wanted.enabled === undefined) this.notes.push(`project ${wanted.name} is disabled, and stays so`);
    } else {
      const { name, requestsPerMinuteMax, concurrencyMax, tokensPerMinuteMax, tags, enabled, modelLimits } = wanted;
      const own = { ...(tags && { tags }), ...defined({ requestsPerMinuteMax, concurrencyMax }), ...set({ tokensPerMinuteMax }) };
      const calls: TenantCall[] = [{ call: 'createProject', request: { projectId, accountId, name, ...own } }];
      const more = { ...(enabled === false && { enabled }), ...(modelLimits?.length && { modelLimits }) };
      if (Object.keys(more).length > 0) calls.push({ call: 'updateProject', request: { projectId, ...more } });
      this.step(this.last, 'create', 'project', place, made(fields), calls);
    }
    this.planKeys(wanted, projectId, path);
    this.planBudgets(wanted.budgets, path, place, { projectId, keyId: null });
  }

  private planKeys({ name: project, keys }: TenantProject, projectId: string, path: Path): void {
    if (keys === undefined) return;
    const stored = (this.state?.keys ?? []).filter((key) => key.projectId === projectId);
    const listed = new Set<string>();
    this.refuseTwice(keys, [...path, 'keys'], ({ name }) => name, 'name');
    for (const [index, key] of keys.entries()) {
      const named = stored.filter(({ name }) => name === key.name);
      for (const { keyId } of named) listed.add(keyId);
      if (named.length > 1)
        this.fault([...path, 'keys', index, 'name'], `is the name of ${named.length} keys: revoke or rename the others`);
      this.planKey(key, named[0], { project, key: key.name }, projectId, [...path, 'keys', index]);
    }
    for (const { keyId, name, lastFour } of stored) {
      if (listed.has(keyId)) continue;
      const fields = [{ field: 'revoked', before: false, after: true }];
      const place = { project, key: name ?? `…${lastFour}` };
      this.step(this.removals, 'remove', 'key', place, fields, [{ call: 'revokeKey', request: { keyId } }]);
    }
  }

  private planKey(wanted: TenantKey, stored: ApiKey | undefined, place: Place, projectId: string, path: Path): void {
    const newKey = this.newKeys.find(({ project, name }) => project === place.project && name === wanted.name);
    const keyId = stored?.keyId ?? newKey?.keyId ?? randomUUID();
    this.check([...path, 'modelLimits'], () => checkModelLimits(wanted.modelLimits ?? []));
    const fields = wantedKey(wanted);
    const hasEnded = typeof wanted.expiresAt === 'string' && Date.parse(wanted.expiresAt) <= this.now;
    if (hasEnded && stored)
      this.fault([...path, 'expiresAt'], 'has passed, and the key has not ended: take the key out of the list, or name a moment ahead');
    if (hasEnded) return;
    if (stored) {
      const changed = compare(storedKey(stored), fields);
      const update = pick(wanted, new Set(changed.map(({ field }) => field)));
      this.step(this.last, 'change', 'key', place, changed, [{ call: 'updateKey', request: { keyId, ...update } }]);
      if (stored.disabled && wanted.disabled === undefined)
        this.notes.push(`key ${wanted.name} of project ${place.project} is disabled, and stays so`);
    } else {
      const { name, note, expiresAt, disabled, models, networks, modelLimits, ...limits } = wanted;
      const { requestsPerMinuteMax, concurrencyMax, tokensPerMinuteMax } = limits;
      const given = {
        ...set({ note, expiresAt, requestsPerMinuteMax, concurrencyMax, tokensPerMinuteMax }),
        ...defined({ models, networks }),
      };
      const request = { keyId, projectId, name, ...given, ...(modelLimits?.length && { modelLimits }) };
      const calls: TenantCall[] = [{ call: 'addKey', request }];
      if (disabled) calls.push({ call: 'updateKey', request: { keyId, disabled } });
      this.step(this.last, 'create', 'key', place, made(fields), calls);
    }
    this.planBudgets(wanted.budgets, path, place, { projectId, keyId: stored?.rootKeyId ?? keyId });
  }

  private planBudgets(
    budgets: readonly TenantBudget[] | undefined,
    path: Path,
    place: Place,
    target: { projectId: string | null; keyId: string | null },
  ): void {
    if (budgets === undefined) return;
    const stored = (this.state?.budgets ?? []).filter(({ projectId, keyId }) => projectId === target.projectId && keyId === target.keyId);
    const listed = new Set<string>();
    this.refuseTwice(budgets, [...path, 'budgets'], nameWantedBudget, 'period');
    for (const [index, budget] of budgets.entries()) {
      const name = nameWantedBudget(budget);
      listed.add(name);
      const found = stored.find((one) => nameBudget(one) === name);
      this.planBudget(budget, found, { ...place, name }, target, [...path, 'budgets', index]);
    }
    for (const budget of stored) {
      // A budget of the customer is theirs.
      const name = nameBudget(budget);
      if (listed.has(name) || budget.setBy === 'customer') continue;
      const fields = Object.entries(storedBudget(budget)).map(([field, before]) => ({ field, before, after: null }));
      const request = { budgetId: budget.budgetId, accountId: this.accountId };
      this.step(this.removals, 'remove', 'budget', { ...place, name }, fields, [{ call: 'removeBudget', request }]);
    }
  }

  private planBudget(
    wanted: TenantBudget,
    stored: Budget | undefined,
    place: Place & { name: string },
    { projectId, keyId }: { projectId: string | null; keyId: string | null },
    path: Path,
  ): void {
    const { period, limitUsd, limitTokens, timeZone, startDay, thresholds, dimension, value } = wanted;
    const limit = { ...defined({ limitTokens }), ...(limitUsd !== undefined && { limitPicoUsd: String(parseUsd(limitUsd)) }) };
    const target = { accountId: this.accountId, ...(keyId !== null ? { keyId } : projectId !== null ? { projectId } : {}) };
    const request: BudgetSetRequest = { ...target, period, ...limit, ...defined({ timeZone, startDay, thresholds, dimension, value }) };
    if (!this.check(path, () => checkBudget(request), { limitPicoUsd: 'limitUsd' })) return;
    const fields = wantedBudget(wanted);
    const changed = stored ? compare(storedBudget(stored), fields) : made(fields);
    const moved = stored && stored.dimension !== null && changed.find(({ field }) => field === 'timeZone' || field === 'startDay');
    if (moved) this.fault([...path, moved.field], 'cannot change for a budget of users or tags: remove the budget first');
    const shown = stored ? changed : changed.filter(({ field }) => field !== 'setBy');
    this.step(this.last, stored ? 'change' : 'create', 'budget', place, shown, [{ call: 'setBudget', request }]);
  }

  private planWebhooks(): void {
    const { webhooks } = this.wanted;
    if (webhooks === undefined) return;
    const { accountId } = this;
    const stored = this.state?.webhooks ?? [];
    const listed = new Set<string>();
    this.refuseTwice(webhooks, ['webhooks'], ({ url }) => url, 'url');
    for (const [index, webhook] of webhooks.entries()) {
      const found = stored.find(({ url }) => url === webhook.url);
      if (found) listed.add(found.webhookId);
      this.planWebhook(webhook, found, ['webhooks', index]);
    }
    for (const { webhookId, url } of stored) {
      if (listed.has(webhookId)) continue;
      const fields = [{ field: 'origin', before: nameDestination(url), after: null }];
      this.step(this.removals, 'remove', 'webhook', { name: nameDestination(url) }, fields, [
        { call: 'removeWebhook', request: { webhookId, accountId } },
      ]);
    }
  }

  private planWebhook(wanted: TenantWebhook, stored: StoredWebhook | undefined, path: Path): void {
    const { accountId } = this;
    const { url, muted } = wanted;
    const { format = 'json', allowPrivateNetwork = false } = { ...stored, ...defined({ ...wanted }) } as TenantWebhook;
    if (!this.check(path, () => assertDestination({ url, format, allowPrivateNetwork }))) return;
    const webhookId = stored?.webhookId ?? randomUUID();
    const fields = wantedWebhook(wanted);
    const place = { name: nameDestination(url) };
    const changed = stored ? compare(storedWebhook(stored), fields) : made(fields);
    const update: TenantCall = {
      call: 'updateWebhook',
      request: { webhookId, ...pick(wanted, new Set(changed.map(({ field }) => field))) },
    };
    if (stored) {
      this.step(this.last, 'change', 'webhook', place, changed, [update]);
      return;
    }
    const calls: TenantCall[] = [{ call: 'addWebhook', request: { webhookId, accountId, url, format, allowPrivateNetwork } }];
    if (muted) calls.push({ call: 'updateWebhook', request: { webhookId, muted } });
    this.step(this.last, 'create', 'webhook', place, changed, calls);
  }

  /** Adds a step, unless nothing is changed. */
  private step(
    to: TenantStep[],
    action: TenantChange['action'],
    kind: TenantChange['kind'],
    place: Place & { name?: string },
    fields: TenantChange['fields'],
    calls: TenantCall[],
  ): void {
    if (action !== 'create' && fields.length === 0) return;
    to.push({ change: { action, kind, ...place, fields }, calls });
  }

  private fault(path: Path, problem: string): void {
    this.faults.push({ path, problem });
  }

  /** Adds the refusal of a check as a fault. Returns false then. */
  private check(path: Path, check: () => void, names: Record<string, string> = {}): boolean {
    try {
      check();
      return true;
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const { param = '', message } = error;
      const field = names[param] ?? param;
      this.fault(field === '' || path.at(-1) === field ? path : [...path, field], renameFields(message, names));
      return false;
    }
  }

  private refuseTwice<Entry>(entries: readonly Entry[], path: Path, name: (entry: Entry) => string, field: string): void {
    const seen = new Set<string>();
    for (const [index, entry] of entries.entries()) {
      if (seen.has(name(entry))) this.fault([...path, index, field], 'is there twice');
      seen.add(name(entry));
    }
  }
}

const NO_TIME_ZONE = 'must be the name of a time zone such as Europe/Berlin';

/** Settings of a new account, except those that are set when it is made. */
const NO_ACCOUNT: Fields = {
  statusReason: null,
  lowBalanceUsd: '0.00',
  creditLineUsd: '0.00',
  pricePlan: null,
  requestsPerMinuteMax: null,
  concurrencyMax: null,
  tokensPerMinuteMax: null,
  modelLimits: [],
};

/** Returns the wanted fields that differ. */
function compare(stored: Fields, wanted: Fields): TenantChange['fields'] {
  return Object.entries(wanted).flatMap(([field, after]) =>
    after === undefined || isDeepStrictEqual(stored[field], after) ? [] : [{ field, before: stored[field] ?? null, after }],
  );
}

/** Returns the wanted fields of something new. */
function made(wanted: Fields): TenantChange['fields'] {
  const isGiven = ([field, value]: [string, unknown]) => field !== 'name' && value !== undefined && value !== null;
  return Object.entries(wanted)
    .filter(isGiven)
    .map(([field, after]) => ({ field, before: null, after }));
}

function pick<Wanted extends object>(wanted: Wanted, names: ReadonlySet<string>): Partial<Wanted> {
  return Object.fromEntries(Object.entries(wanted).filter(([name, value]) => names.has(name) && value !== undefined)) as Partial<Wanted>;
}

type Defined<Value> = { [Name in keyof Value]?: Exclude<Value[Name], undefined> };

function defined<Value extends object>(fields: Value): Defined<Value> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<Value>;
}

/** Returns the fields that are neither absent nor null: nothing that is new has a field to clear. */
function set<Value extends object>(fields: Value): { [Name in keyof Value]?: NonNullable<Value[Name]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null)) as never;
}

function renameFields(message: string, names: Record<string, string>): string {
  return Object.entries(names).reduce((text, [name, shown]) => text.replaceAll(name, shown), message);
}
