import { randomUUID } from 'node:crypto';
import type { Account, AccountCreateRequest } from '#contracts/billing/accounts.js';
import { ServiceError } from '#contracts/service-error.js';
import type { Prisma, PrismaClient } from '#database/prisma-client.js';
import { isDuplicate } from './database-refusal.js';

/** Opens an account. Repeating it with the same id and name answers with the same account; another name is a `conflict`. */
export async function createAccount(prisma: PrismaClient, request: AccountCreateRequest): Promise<Account> {
  const id = request.accountId ?? randomUUID();
  try {
    return renderAccount(await prisma.account.create({ data: { id, name: request.name } }));
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    const existing = await prisma.account.findUniqueOrThrow({ where: { id } });
    if (existing.name === request.name) return renderAccount(existing);
    throw new ServiceError('conflict', 'There is an account with this id and another name.', 'accountId', { cause: error });
  }
}

/** All accounts, or the one with `accountId`; oldest first. */
export async function listAccounts(prisma: PrismaClient, accountId?: string): Promise<Account[]> {
  const accounts = await prisma.account.findMany({ where: { id: accountId }, orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] });
  return accounts.map(renderAccount);
}

/** `ServiceError('not_found')` if there is no such account. */
export async function demandAccount(prisma: PrismaClient, accountId: string): Promise<void> {
  const account = await prisma.account.findUnique({ where: { id: accountId }, select: { id: true } });
  if (!account) throw new ServiceError('not_found', 'There is no such account.', 'accountId');
}

function renderAccount(row: Prisma.AccountModel): Account {
  return { accountId: row.id, name: row.name, status: row.status as Account['status'], createdAt: row.createdAt.toISOString() };
}
