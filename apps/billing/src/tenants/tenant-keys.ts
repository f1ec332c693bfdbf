import { randomUUID } from 'node:crypto';
import type { ApiKey, KeyCreateRequest } from '#contracts/billing/keys.js';
import type { Project } from '#contracts/billing/projects.js';
import type { NewTenantKey, TenantKey, TenantProject } from '#contracts/billing/tenants.js';
import { ServiceError } from '#contracts/service-error.js';
import { storedDigest } from '../keys/key-digest.js';
import { addKey, renderKey, revokeKey, updateKey } from '../keys/keys.js';
import { checkModelLimits, toLimits } from '../limits/set-limits.js';
import {
  compareFields,
  type Fields,
  newFields,
  pickChanged,
  sortTexts,
  withoutAbsent,
  withoutEmpty,
  withoutNull,
} from './compare-fields.js';
import type { Applying, Path, Planning } from './planning.js';
import { exportBudgets, planBudgets } from './tenant-budgets.js';
import { storedLimits, wantedLimits } from './tenant-limits.js';
import { ORDER, type TenantState, type Tx } from './tenant-state.js';

/** Reads the keys that are in use. */
export async function readKeys(tx: Tx, accountIds: string[], now: Date): Promise<ApiKey[]> {
  const inUse = { revokedAt: null, replacedBy: null, OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] };
  const rows = await tx.apiKey.findMany({ where: { project: { accountId: { in: accountIds } }, ...inUse }, orderBy: ORDER });
  const limits = await tx.rateLimit.findMany({ where: { accountId: { in: accountIds }, keyId: { not: null } } });
  const limitsByKey = new Map(limits.map((row) => [row.id, row]));
  return rows.map((row) => renderKey(row, toLimits(limitsByKey.get(row.rootKeyId ?? row.id))));
}

export function planKeys(planning: Planning, { name: project, keys }: TenantProject, projectId: string, path: Path): void {
  if (keys === undefined) return;
  const stored = (planning.state?.keys ?? []).filter((key) => key.projectId === projectId);
  const listed = new Set<string>();
  planning.refuseTwice(keys, [...path, 'keys'], ({ name }) => name, 'name');
  for (const [index, key] of keys.entries()) {
    const at = [...path, 'keys', index];
    const named = stored.filter(({ name }) => name === key.name);
    for (const { keyId } of named) listed.add(keyId);
    if (named.length > 1) planning.fault([...at, 'name'], `is the name of ${named.length} keys: revoke or rename the others`);
    planKey(planning, key, named[0], { projectId, project }, at);
  }
  for (const { keyId, name, lastFour } of stored) {
    if (listed.has(keyId)) continue;
    const fields = [{ field: 'revoked', before: false, after: true }];
    const place = { project, key: name ?? `…${lastFour}` };
    planning.remove('key', place, fields, ({ joined, author }) => revokeKey(joined, keyId, author), { keyId });
  }
}

/** A file cannot name keys without a name, nor those that share one. */
export function exportKeys(state: TenantState, { projectId, name: project }: Project, leftOut: string[]): TenantKey[] {
  const own = state.keys.filter((key) => key.projectId === projectId);
  const named = own.filter((key) => key.name !== null && own.filter(({ name }) => name === key.name).length === 1);
  for (const key of own) {
    if (named.includes(key)) continue;
    const problem = key.name === null ? 'it has no name' : 'others have its name';
    leftOut.push(`key ${key.name ?? `…${key.lastFour}`} of project ${project}: ${problem}`);
  }
  return named.map((key) => ({
    name: key.name ?? '',
    ...withoutEmpty(storedKey(key)),
    budgets: exportBudgets(state, { projectId: key.projectId, keyId: key.rootKeyId }, leftOut),
  }));
}

function planKey(
  planning: Planning,
  wanted: TenantKey,
  stored: ApiKey | undefined,
  { projectId, project }: { projectId: string; project: string },
  path: Path,
): void {
  const { name } = wanted;
  const place = { project, key: name };
  const newKey = planning.newKeys.find((one) => one.project === project && one.name === name);
  const keyId = stored?.keyId ?? newKey?.keyId ?? randomUUID();
  planning.check([...path, 'modelLimits'], () => checkModelLimits(wanted.modelLimits ?? []));
  const fields = wantedKey(wanted);
  const hasEnded = typeof wanted.expiresAt === 'string' && Date.parse(wanted.expiresAt) <= planning.now;
  if (hasEnded && stored) {
    planning.fault([...path, 'expiresAt'], 'has passed, and the key has not ended: take the key out of the list, or name a moment ahead');
  }
  if (hasEnded) return;
  planning.own('key', stored?.rootKeyId ?? keyId, stored);
  if (stored) {
    const changed = compareFields(storedKey(stored), fields);
    const update = { keyId, ...pickChanged(wanted, changed) };
    planning.change('key', place, changed, ({ joined, author }) => updateKey(joined, update, author), { keyId });
    if (stored.disabled && wanted.disabled === undefined)
      planning.notes.push(`key ${name} of project ${project} is disabled, and stays so`);
  } else {
    planning.create('key', place, newFields(fields), (applying) => createWanted(applying, wanted, projectId, keyId));
  }
  planBudgets(planning, wanted.budgets, { projectId, keyId: stored?.rootKeyId ?? keyId }, place, path);
}

async function createWanted(
  { joined, author, newKeys, keyPepper }: Applying,
  wanted: TenantKey,
  projectId: string,
  keyId: string,
): Promise<void> {
  const { name, note, expiresAt, disabled, models, networks, modelLimits, ...limits } = wanted;
  const { requestsPerMinuteMax, concurrencyMax, tokensPerMinuteMax } = limits;
  const request: KeyCreateRequest = {
    ...{ keyId, projectId, name },
    ...withoutNull({ note, expiresAt, requestsPerMinuteMax, concurrencyMax, tokensPerMinuteMax }),
    ...withoutAbsent({ models, networks }),
    ...(modelLimits?.length && { modelLimits }),
  };
  const { keyDigest, lastFour } = findNewKey(newKeys, keyId, name);
  await addKey(joined, request, { digest: storedDigest(keyDigest, keyPepper), lastFour }, author);
  if (disabled) await updateKey(joined, { keyId, disabled }, author);
}

function findNewKey(newKeys: readonly NewTenantKey[], keyId: string, name: string): NewTenantKey {
  const found = newKeys.find((one) => one.keyId === keyId);
  if (found) return found;
  throw new ServiceError('invalid_request', `The key ${name} is new: newKeys must have it.`, 'newKeys');
}

function storedKey(key: ApiKey): Fields {
  const { note, expiresAt, disabled, models, networks } = key;
  return { note, expiresAt, disabled, models: sortTexts(models), networks: sortTexts(networks), ...storedLimits(key) };
}

function wantedKey(wanted: TenantKey): Fields {
  const { note, expiresAt, disabled, models, networks } = wanted;
  const end = typeof expiresAt === 'string' ? new Date(expiresAt).toISOString() : expiresAt;
  const lists = { models: models && sortTexts(models), networks: networks && sortTexts(networks) };
  return { note, expiresAt: end, disabled, ...lists, ...wantedLimits(wanted) };
}
