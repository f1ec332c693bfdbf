import { randomUUID } from 'node:crypto';
import type { Project } from '#contracts/billing/projects.js';
import type { TenantProject } from '#contracts/billing/tenants.js';
import { createProject, renderStoredProject, updateProject } from '../accounts/projects.js';
import { checkModelLimits } from '../limits/set-limits.js';
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
import type { Path, Planning } from './planning.js';
import { exportBudgets, planBudgets } from './tenant-budgets.js';
import { exportKeys, planKeys } from './tenant-keys.js';
import { storedLimits, wantedLimits } from './tenant-limits.js';
import { ORDER, type TenantState, type Tx } from './tenant-state.js';

export async function readProjects(tx: Tx, accountIds: string[]): Promise<Project[]> {
  const include = { limits: { where: { keyId: null } } };
  return (await tx.project.findMany({ where: { accountId: { in: accountIds } }, include, orderBy: ORDER })).map(renderStoredProject);
}

export function planProjects(planning: Planning): void {
  const { projects } = planning.wanted;
  if (projects === undefined) return;
  const stored = planning.state?.projects ?? [];
  const listed = new Set<string>();
  planning.refuseTwice(projects, ['projects'], ({ name }) => name, 'name');
  for (const [index, project] of projects.entries()) {
    const path = ['projects', index];
    const found = findProject(planning, project, stored, path);
    if (found) {
      if (listed.has(found.projectId)) planning.fault([...path, 'projectId'], 'is that of another project of the list');
      listed.add(found.projectId);
    }
    planProject(planning, project, found, path);
  }
  for (const { projectId, name, enabled } of stored) {
    if (listed.has(projectId) || !enabled) continue;
    const fields = [{ field: 'enabled', before: true, after: false }];
    const disable = { projectId, enabled: false };
    planning.remove('project', { project: name }, fields, ({ joined, author }) => updateProject(joined, disable, author), { projectId });
  }
}

export function exportProjects(state: TenantState, leftOut: string[]): TenantProject[] {
  const { projects } = state;
  const isTwice = ({ name }: Project): boolean => projects.filter((one) => one.name === name).length > 1;
  return projects.map((project) => {
    const { name, projectId } = project;
    const { name: _, enabled, ...settings } = storedProject(project);
    return {
      ...(isTwice(project) && { projectId }),
      name,
      ...(!project.enabled && { enabled: false }),
      ...withoutEmpty(settings),
      budgets: exportBudgets(state, { projectId, keyId: null }, leftOut),
      keys: exportKeys(state, project, leftOut),
    };
  });
}

function findProject(planning: Planning, { projectId, name }: TenantProject, stored: readonly Project[], path: Path): Project | undefined {
  if (projectId !== undefined) {
    const found = stored.find((one) => one.projectId === projectId);
    if (!found) planning.fault([...path, 'projectId'], 'is that of no project of the account');
    return found;
  }
  const named = stored.filter((one) => one.name === name);
  if (named.length > 1) planning.fault([...path, 'name'], `is the name of ${named.length} projects: add the projectId of one`);
  return named[0];
}

function planProject(planning: Planning, wanted: TenantProject, stored: Project | undefined, path: Path): void {
  const projectId = stored?.projectId ?? randomUUID();
  const place = { project: wanted.name };
  planning.own('project', projectId, stored);
  planning.check([...path, 'modelLimits'], () => checkModelLimits(wanted.modelLimits ?? []));
  const fields = wantedProject(wanted);
  if (stored) {
    const changed = compareFields(storedProject(stored), fields);
    const update = { ...pickChanged(wanted, changed), projectId };
    planning.change('project', place, changed, ({ joined, author }) => updateProject(joined, update, author), { projectId });
    if (!stored.enabled && wanted.enabled === undefined) planning.notes.push(`project ${wanted.name} is disabled, and stays so`);
  } else {
    createWanted(planning, wanted, projectId, newFields(fields));
  }
  planKeys(planning, wanted, projectId, path);
  planBudgets(planning, wanted.budgets, { projectId, keyId: null }, place, path);
}

function createWanted(planning: Planning, wanted: TenantProject, projectId: string, fields: ReturnType<typeof newFields>): void {
  const { accountId } = planning;
  const { name, requestsPerMinuteMax, concurrencyMax, tokensPerMinuteMax, tags, enabled, modelLimits, policy } = wanted;
  const own = { ...withoutAbsent({ tags, requestsPerMinuteMax, concurrencyMax }), ...withoutNull({ tokensPerMinuteMax }) };
  const more = { ...(enabled === false && { enabled }), ...(modelLimits?.length && { modelLimits }), ...(policy && { policy }) };
  planning.create('project', { project: name }, fields, async ({ joined, author, limits }) => {
    await createProject(joined, { projectId, accountId, name, ...own }, limits, author);
    if (Object.keys(more).length > 0) await updateProject(joined, { projectId, ...more }, author);
  });
}

function storedProject(project: Project): Fields {
  const { name, enabled, requestsPerMinuteMax, concurrencyMax, tags, policy = null } = project;
  const { tokensPerMinuteMax, modelLimits } = storedLimits(project);
  return { name, enabled, requestsPerMinuteMax, concurrencyMax, tokensPerMinuteMax, modelLimits, tags: sortTexts(tags), policy };
}

function wantedProject(wanted: TenantProject): Fields {
  const { name, enabled, tags, policy } = wanted;
  return { name, enabled, ...wantedLimits(wanted), tags: tags && sortTexts(tags), policy: policy && { ...policy } };
}
