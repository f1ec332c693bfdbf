import { randomUUID } from 'node:crypto';
import type { ListRequest } from '#contracts/billing/accounts.js';
import type { Project, ProjectCreateRequest, ProjectListReply, ProjectUpdateRequest } from '#contracts/billing/projects.js';
import { ServiceError } from '#contracts/service-error.js';
import { audited, changedFields } from '#database/audit-journal.js';
import type { Prisma, PrismaClient } from '#database/prisma-client.js';
import { OWN_AUTHOR } from '../audit/own-author.js';
import { refuseTooManyProjects } from '../limits/maxima.js';
import { findLevel, type LimitDefaults } from '../limits/operator-limits.js';
import { demandOwnId } from '../limits/own-id.js';
import { namesLimits, type ShownLimits, setLimits, toLimits } from '../limits/set-limits.js';
import { addMarks } from '../managed/marks.js';
import { oldestFirst, readPage } from '../paging/read-page.js';
import { searchIn } from '../paging/search.js';
import { lockAccount } from '../sql/lock-account.js';
import { boundAccount } from './bound-account.js';
import { isDuplicate, isMissing } from './prisma-errors.js';
import { readPolicy, storePolicy } from './project-policy.js';

/**
 * Adds a project to an account. A repeated request with the same id, account and name returns the project as it is now. One that a customer
 * adds shares what the operator has allowed the account (`boundAccount`).
 * @throws {ServiceError} `not_found` for an unknown account, `conflict` when the id is used already or the account has as many
 * projects as it may.
 */
export async function createProject(
  prisma: PrismaClient,
  request: ProjectCreateRequest,
  defaults: LimitDefaults,
  author = OWN_AUTHOR,
): Promise<Project> {
  const { accountId, name } = request;
  const requestsPerMinuteMax = request.requestsPerMinuteMax ?? defaults.requestsPerMinute;
  const concurrencyMax = request.concurrencyMax ?? defaults.concurrency;
  const id = request.projectId ?? randomUUID();
  try {
    return await audited(prisma, 'billing', author, async (tx) => {
      const data = { id, accountId, name, requestsPerMinuteMax, concurrencyMax, tags: request.tags };
      const level = findLevel(author);
      await lockAccount(tx, accountId);
      const bound = level === 'customer' ? await boundAccount(tx, accountId, defaults) : [];
      const row = await tx.project.create({ data });
      await demandOwnId(tx, id, 'projectId');
      await refuseTooManyProjects(tx, accountId);
      const project = renderProject(row, await setLimits(tx, auditTarget(row), { tokensPerMinuteMax: request.tokensPerMinuteMax }, level));
      const created = { ...describeChange('project.create', project), before: null, after: { ...project } };
      return { result: project, change: [...bound, created] };
    });
  } catch (error) {
    if (isDuplicate(error)) return renderStoredProject(await sameProject(prisma, id, request, error));
    if (isMissing(error)) throw new ServiceError('not_found', 'There is no such account.', 'accountId', { cause: error });
    throw error;
  }
}

async function sameProject(
  prisma: PrismaClient,
  id: string,
  { accountId, name }: ProjectCreateRequest,
  cause: unknown,
): Promise<StoredProject> {
  const existing = await prisma.project.findUniqueOrThrow({ where: { id }, include: { limits: { where: { keyId: null } } } });
  if (existing.accountId === accountId && existing.name === name) return existing;
  throw new ServiceError('conflict', 'There is a project with this id, and another account or name.', 'projectId', { cause });
}

/**
 * Changes the given fields. New limits apply from the next reserve on.
 * @throws {ServiceError} `not_found`; `permission_denied` for a customer's limit above the operator's, or another policy of a customer.
 */
export async function updateProject(prisma: PrismaClient, request: ProjectUpdateRequest, author = OWN_AUTHOR): Promise<Project> {
  const { projectId: id, name, enabled, requestsPerMinuteMax, concurrencyMax, tokensPerMinuteMax, modelLimits, tags, policy } = request;
  return audited(prisma, 'billing', author, async (tx) => {
    const found = await tx.project.findUnique({ where: { id } });
    if (!found) throw new ServiceError('not_found', 'There is no such project.', 'projectId');
    // Batches lock the account before the project.
    if (namesLimits({ tokensPerMinuteMax, modelLimits })) await lockAccount(tx, found.accountId);
    // Locked first, so that `before` is the row that this change replaces.
    await tx.$queryRaw`SELECT FROM billing.project WHERE id = ${id}::uuid FOR NO KEY UPDATE`;
    const row = await tx.project.findUniqueOrThrow({ where: { id }, include: { limits: { where: { keyId: null } } } });
    const data = { name, enabled, requestsPerMinuteMax, concurrencyMax, tags, policy: storePolicy(row.policy, policy, findLevel(author)) };
    const limits = await setLimits(tx, auditTarget(row), { tokensPerMinuteMax, modelLimits }, findLevel(author));
    const project = renderProject(await tx.project.update({ where: { id }, data }), limits);
    const changed = changedFields(
      { modelLimits: undefined, operatorLimits: undefined, policy: undefined, ...renderStoredProject(row) },
      project,
    );
    return { result: project, change: changed && { ...describeChange('project.update', project), ...changed } };
  });
}

function describeChange(action: string, { accountId, projectId }: Project) {
  return { action, accountId, target: `project/${projectId}`, reason: null };
}

export async function listProjects(prisma: PrismaClient, request: ListRequest): Promise<ProjectListReply> {
  const where = { id: request.projectId, accountId: request.accountId, ...searchIn(request.search, ['name']) };
  const { rows, nextCursor } = await readPage(['projects', where], request, (page) =>
    prisma.project.findMany({ where, include: { limits: { where: { keyId: null } } }, orderBy: [...oldestFirst], ...page }),
  );
  return { projects: await addMarks(prisma, 'project', rows.map(renderStoredProject), ({ projectId }) => projectId), nextCursor };
}

type StoredProject = Prisma.ProjectModel & { limits: Prisma.RateLimitModel[] };

export function renderStoredProject(row: StoredProject): Project {
  return renderProject(row, toLimits(row.limits[0]));
}

function auditTarget({ id: projectId, accountId }: Prisma.ProjectModel) {
  return { accountId, projectId, keyId: null };
}

function renderProject(row: Prisma.ProjectModel, { tokensPerMinuteMax, modelLimits, operatorLimits }: ShownLimits): Project {
  return {
    projectId: row.id,
    accountId: row.accountId,
    name: row.name,
    enabled: row.enabled,
    requestsPerMinuteMax: row.requestsPerMinuteMax,
    concurrencyMax: row.concurrencyMax,
    tokensPerMinuteMax,
    ...(modelLimits && { modelLimits: [...modelLimits] }),
    ...(operatorLimits && { operatorLimits }),
    tags: row.tags,
    ...(row.policy !== null && { policy: readPolicy(row.policy) }),
    createdAt: row.createdAt.toISOString(),
  };
}
