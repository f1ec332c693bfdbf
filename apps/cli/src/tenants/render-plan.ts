import type { AccountPlan, TenantChange } from '#contracts/billing/tenants.js';
import { withoutControls } from '../render.js';

const SIGNS = { create: '+', change: '~', remove: '-' } as const;
/** Accounts whose changes are listed. `--json` has all. */
const LISTED_MAX = 200;

/** Renders the changes of all accounts, those without one left out, and their sum. */
export function renderPlans(plans: readonly AccountPlan[], done: 'planned' | 'made'): string {
  const shown = plans.filter(({ changes, kept, notes }) => changes.length + kept.length + notes.length > 0);
  const lines = shown.slice(0, LISTED_MAX).flatMap((plan) => [...renderPlan(plan), '']);
  const more = shown.length > LISTED_MAX ? [`and ${shown.length - LISTED_MAX} accounts more`, ''] : [];
  return withoutControls([...lines, ...more, summarize(plans, done)].join('\u2028')).replaceAll('\u2028', '\n');
}

function renderPlan({ name, accountId, changes, kept, notes }: AccountPlan): string[] {
  return [
    `account ${name}${accountId === null ? ' (new)' : ''}`,
    ...changes.flatMap(renderChange),
    ...kept.map((change) => `  = ${describe(change)}: not in the file, and kept`),
    ...notes.map((note) => `  ! ${note}`),
  ];
}

function renderChange(change: TenantChange): string[] {
  const { action, kind, name, fields } = change;
  if (kind === 'mark') return fields.map(({ before, after }) => `  ~ managed by ${name}: ${before} -> ${after} parts`);
  const head = `  ${SIGNS[action]} ${describe(change)}`;
  if (action === 'create')
    return [fields.length === 0 ? head : `${head}: ${fields.map(({ field, after }) => `${field} ${show(after)}`).join(', ')}`];
  if (action === 'remove') return [`${head}${change.kind === 'key' ? ': revoked' : change.kind === 'project' ? ': disabled' : ''}`];
  return fields.map(({ field, before, after }) => `${head}: ${field} ${show(before)} -> ${show(after)}`);
}

function describe({ kind, project, key, name }: TenantChange): string {
  const place = [...(project === undefined ? [] : [`project ${project}`]), ...(key === undefined ? [] : [`key ${key}`])];
  if (kind === 'project') return `project ${project}`;
  if (kind === 'key') return `key ${key} of project ${project}`;
  if (kind === 'member') return `member ${name}${project === undefined ? '' : ` of project ${project}`}`;
  if (kind === 'account' || kind === 'credit') return kind === 'account' ? 'settings' : 'credit';
  return `${kind} ${name}${place.length > 0 ? ` of ${place.reverse().join(' of ')}` : ''}`;
}

function show(value: unknown): string {
  if (value === null || (Array.isArray(value) && value.length === 0)) return 'none';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function countChanges(plans: readonly Pick<AccountPlan, 'changes'>[]): Record<TenantChange['action'], number> {
  const counts = { create: 0, change: 0, remove: 0 };
  for (const { changes } of plans) for (const { action } of changes) counts[action] += 1;
  return counts;
}

function summarize(plans: readonly AccountPlan[], done: 'planned' | 'made'): string {
  const { create, change, remove } = countChanges(plans);
  const kept = plans.reduce((sum, plan) => sum + plan.kept.length, 0);
  const left = kept === 0 ? '' : `; ${kept} not in the file and kept (--prune removes them)`;
  const accounts = `${plans.length} account${plans.length === 1 ? '' : 's'}`;
  if (create + change + remove === 0) return `nothing to change in ${accounts}${left}`;
  const [made, changed, removed] = done === 'made' ? ['made', 'changed', 'removed'] : ['to make', 'to change', 'to remove'];
  return `${accounts}: ${create} ${made}, ${change} ${changed}, ${remove} ${removed}${left}`;
}
