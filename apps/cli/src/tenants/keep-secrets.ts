import { randomUUID } from 'node:crypto';
import { digestApiKey } from '#contracts/api-key.js';
import { keyList } from '#contracts/billing/keys.js';
import { type AccountPlan, accountPlan, type NewTenantKey, type TenantChange } from '#contracts/billing/tenants.js';
import { makeApiKey } from '#contracts/make-api-key.js';
import type { Messaging } from '#messaging/messaging.js';
import { UsageError } from '../usage-error.js';
import { PLAN_MS, type PlannedAccount } from './plan-file.js';
import { type KeySecret, readSecrets, type SecretsFormat, writeSecrets } from './secrets-file.js';

type KeyPlace = Pick<KeySecret, 'account' | 'project' | 'name'>;

/** The keys that are new, by the names of their accounts. */
export type NewKeys = ReadonlyMap<string, NewTenantKey[]>;

/** Demands a file for each kind of secret that an apply makes. @throws {UsageError} which names all that are missing. */
export function demandFiles(planned: readonly PlannedAccount[], files: { secrets: string | undefined; invites: string | undefined }): void {
  const keys = files.secrets === undefined ? listNewKeys(planned).length : 0;
  const people = files.invites === undefined ? planned.flatMap(({ plan }) => plan.changes.filter(isInvite)).length : 0;
  const missing = [
    ...(keys === 0
      ? []
      : [`${keys === 1 ? 'a key is' : `${keys} keys are`} new: name a file for the secrets, such as --secrets keys.yaml`]),
    ...(people === 0
      ? []
      : [`${people === 1 ? 'a person is' : `${people} people are`} new: name a file for their links, such as --invites links.yaml`]),
  ];
  if (missing.length > 0) throw new UsageError(missing.join('\n'));
}

/**
 * Makes the keys that are new and writes their secrets, before billing gets the digests. After a crash in between, the next run finds the
 * secrets and uses them: none of their keys is there yet.
 */
export async function keepSecrets(
  messaging: Messaging,
  planned: readonly PlannedAccount[],
  file: string | undefined,
  format: SecretsFormat,
): Promise<NewKeys> {
  const wanted = listNewKeys(planned);
  if (wanted.length === 0 || file === undefined) return new Map();
  if (new Set(wanted.map(renderPlace)).size < wanted.length) {
    throw new UsageError('two accounts of one name have new keys of one name: apply each from a file of its own');
  }
  const kept = new Map((await readSecrets(file)).map((secret) => [renderPlace(secret), secret]));
  const before = kept.size;
  let isChanged = false;
  for (const place of wanted) {
    const found = kept.get(renderPlace(place));
    if (found && !((await hasKey(messaging, found.keyId)) && (await isStillNew(messaging, planned, place)))) continue;
    kept.set(renderPlace(place), { ...place, keyId: randomUUID(), key: makeApiKey() });
    isChanged = true;
  }
  if (isChanged || before !== kept.size) await writeSecrets(file, [...kept.values()], format);
  const made = wanted.map((place) => kept.get(renderPlace(place)) as KeySecret);
  const rows = made.map(({ account, project, name, keyId, key }) => ({
    account,
    row: { project, name, keyId, keyDigest: digestApiKey(key), lastFour: key.slice(-4) },
  }));
  return new Map([...Map.groupBy(rows, ({ account }) => account)].map(([account, found]) => [account, found.map(({ row }) => row)]));
}

/** The file of the secrets of one run. */
export interface SecretsPlace {
  file: string | undefined;
  format: SecretsFormat;
}

/**
 * Takes secrets out of the file whose keys never come to be, after the apply of their account has ended: another apply at the same time has made
 * the keys, with the secrets of its own file. Returns the keys.
 */
export async function dropUnused(
  messaging: Messaging,
  { name: account, changes }: Pick<AccountPlan, 'name' | 'changes'>,
  newKeys: readonly NewTenantKey[],
  { file, format }: SecretsPlace,
): Promise<NewTenantKey[]> {
  const made = new Set(listKeysToMake({ name: account, changes }).map(renderPlace));
  const unused: NewTenantKey[] = [];
  // Also those that an earlier run of the same file made, whose reply it did not get.
  for (const key of newKeys) if (!made.has(renderPlace({ account, ...key })) && !(await hasKey(messaging, key.keyId))) unused.push(key);
  if (unused.length === 0 || file === undefined) return unused;
  const ids = new Set(unused.map(({ keyId }) => keyId));
  const kept = (await readSecrets(file)).filter(({ keyId }) => !ids.has(keyId));
  await writeSecrets(file, kept, format);
  return unused;
}

function listNewKeys(planned: readonly PlannedAccount[]): KeyPlace[] {
  return planned.flatMap(({ plan }) => listKeysToMake(plan));
}

function listKeysToMake({ name: account, changes }: Pick<AccountPlan, 'name' | 'changes'>): KeyPlace[] {
  return changes.flatMap(({ action, kind, project = '', key = '' }) =>
    action === 'create' && kind === 'key' ? [{ account, project, name: key }] : [],
  );
}

function isInvite({ action, kind, fields: [field] }: TenantChange): boolean {
  return kind === 'member' && action !== 'remove' && field?.field === 'invite';
}

function renderPlace({ account, project, name }: KeyPlace): string {
  return JSON.stringify([account, project, name]);
}

/** Compares again: the apply of a run that was killed may have ended since the plan. Its key has the secret that is kept. */
async function isStillNew(messaging: Messaging, planned: readonly PlannedAccount[], place: KeyPlace): Promise<boolean> {
  const isPlace = (one: KeyPlace): boolean => renderPlace(one) === renderPlace(place);
  const accounts = planned.filter(({ plan }) => listKeysToMake(plan).some(isPlace)).map(({ account }) => account);
  const { plans } = await messaging.request(accountPlan, { accounts }, { timeoutMs: PLAN_MS });
  return plans.some((plan) => listKeysToMake(plan).some(isPlace));
}

async function hasKey(messaging: Messaging, keyId: string): Promise<boolean> {
  return (await messaging.request(keyList, { keyId })).keys.length > 0;
}
