import { randomUUID } from 'node:crypto';
import type { ListRequest } from '#contracts/billing/accounts.js';
import type { Project, ProjectCreateRequest, ProjectListReply, ProjectUpdateRequest } from '#contracts/billing/projects.js';
import { ServiceError } from '#contracts/service-error.js';
import type { Prisma, PrismaClient } from '#database/prisma-client.js';
import { oldestFirst, pageOf } from '../paging/page-of.js';
import { isDuplicate, isMissing } from './database-refusal.js';

/** Limits of a project that names none. */
interface LimitDefaults {
  requestsPerMinute: number;
  concurrency: number;
}

/**
 * Adds a project to an account. A repeated request with the same id, account and name returns the project as it is now.
 * @throws {ServiceError} `not_found` for an unknown account, `conflict` when the id belongs to another project.
 */
export async function createProject(prisma: PrismaClient, request: ProjectCreateRequest, defaults: LimitDefaults): Promise<Project> {
  const { accountId, name } = request;
  const requestsPerMinuteMax = request.requestsPerMinuteMax ?? defaults.requestsPerMinute;
  const concurrencyMax = request.concurrencyMax ?? defaults.concurrency;
  const id = request.projectId ?? randomUUID();
  try {
    return renderProject(await prisma.project.create({ data: { id, accountId, name, requestsPerMinuteMax, concurrencyMax } }));
  } catch (error) {
    if (isDuplicate(error)) return renderProject(await sameProject(prisma, id, request, error));
    if (isMissing(error)) throw new ServiceError('not_found', 'There is no such account.', 'accountId', { cause: error });
    throw error;
  }
}

async function sameProject(
  prisma: PrismaClient,
  id: string,
  { accountId, name }: ProjectCreateRequest,
  cause: unknown,
): Promise<Prisma.ProjectModel> {
  const existing = await prisma.project.findUniqueOrThrow({ where: { id } });
  if (existing.accountId === accountId && existing.name === name) return existing;
  throw new ServiceError('conflict', 'There is a project with this id, and another account or name.', 'projectId', { cause });
}

/**
 * Changes the given fields. New limits apply from the next reserve on.
 * @throws {ServiceError} `not_found`.
 */
export async function updateProject(prisma: PrismaClient, request: ProjectUpdateRequest): Promise<Project> {
  const { projectId, name, enabled, requestsPerMinuteMax, concurrencyMax } = request;
  try {
    return renderProject(
      await prisma.project.update({ where: { id: projectId }, data: { name, enabled, requestsPerMinuteMax, concurrencyMax } }),
    );
  } catch (error) {
    if (isMissing(error)) throw new ServiceError('not_found', 'There is no such project.', 'projectId', { cause: error });
    throw error;
  }
}

export async function listProjects(prisma: PrismaClient, request: ListRequest): Promise<ProjectListReply> {
  const where = { id: request.projectId, accountId: request.accountId };
  const { rows, nextCursor } = await pageOf(['projects', where], request, (page) =>
    prisma.project.findMany({ where, orderBy: [...oldestFirst], ...page }),
  );
  return { projects: rows.map(renderProject), nextCursor };
}

function renderProject(row: Prisma.ProjectModel): Project {
  return {
    projectId: row.id,
    accountId: row.accountId,
    name: row.name,
    enabled: row.enabled,
    requestsPerMinuteMax: row.requestsPerMinuteMax,
    concurrencyMax: row.concurrencyMax,
    createdAt: row.createdAt.toISOString(),
  };
}
