import { type Attribution, CHILD } from '#contracts/billing/attribution.js';
import type { Budget } from '#contracts/billing/budgets.js';
import type { OwnKey, OwnKeyRequestRequest, OwnKeyShowRequest, OwnKeyUsageRequest } from '#contracts/billing/own-key.js';
import type { BilledRequest } from '#contracts/billing/requests.js';
import type { UsageQueryReply } from '#contracts/billing/usage.js';
import { parseAmounts } from '#contracts/rules/budget-amounts.js';
import { isBelowChild, listChain } from '#contracts/rules/child-path.js';
import { ServiceError } from '#contracts/service-error.js';
import type { PrismaClient } from '#database/prisma-client.js';
import { listBudgets } from '../budgets/budgets.js';
import { listBudgetValues } from '../budgets/list-values.js';
import { noSuchRequest, showRequest } from '../holds/show-request.js';
import { toLimits } from '../limits/set-limits.js';
import { queryUsage } from '../usage/query-usage.js';
import { listKeys } from './keys.js';

/**
 * Returns a key with the limits of its project and account, and every budget that a request of it counts against: of users and tags those
 * that the attribution names.
 * @throws {ServiceError} `not_found`.
 */
export async function showOwnKey(
  prisma: PrismaClient,
  { keyId, attribution = {}, childLimitsPicoUsd = [] }: OwnKeyShowRequest,
): Promise<OwnKey> {
  const { keys } = await listKeys(prisma, { keyId });
  const [key] = keys;
  if (!key) throw new ServiceError('not_found', 'There is no such key.', 'keyId');
  const include = { limits: { where: { keyId: null } } };
  const { limits, ...project } = await prisma.project.findUniqueOrThrow({ where: { id: key.projectId }, include });
  const { tokensPerMinuteMax, modelLimits } = toLimits(limits[0]);
  const ofAccount = toLimits(await prisma.rateLimit.findUnique({ where: { id: project.accountId } }));
  const { budgets } = await listBudgets(prisma, { accountId: project.accountId });
  const ofKey = budgets.filter(
    (of) => of.keyId === key.rootKeyId || (of.keyId === null && (of.projectId ?? key.projectId) === key.projectId),
  );
  return {
    ...key,
    accountId: project.accountId,
    tightest: {
      requestsPerMinuteMax: tightest(project.requestsPerMinuteMax, key.requestsPerMinuteMax, ofAccount.requestsPerMinuteMax),
      tokensPerMinuteMax: tightest(tokensPerMinuteMax, key.tokensPerMinuteMax, ofAccount.tokensPerMinuteMax),
      concurrencyMax: tightest(project.concurrencyMax, key.concurrencyMax, ofAccount.concurrencyMax),
    },
    ...(modelLimits && { projectModelLimits: [...modelLimits] }),
    ...(ofAccount.modelLimits && { accountModelLimits: [...ofAccount.modelLimits] }),
    budgets: (await Promise.all(ofKey.map((budget) => countFor(prisma, budget, attribution, childLimitsPicoUsd)))).flat(),
  };
}

/** Returns the budget as it counts for a request, for each child key of a chain; nothing when it does not count it. */
async function countFor(prisma: PrismaClient, budget: Budget, attribution: Attribution, childLimits: readonly string[]): Promise<Budget[]> {
  const { accountId, budgetId, dimension } = budget;
  if (dimension === null) return [budget];
  const named = Object.hasOwn(attribution, dimension) ? attribution[dimension] : undefined;
  if (named === undefined || (budget.value ?? named) !== named) return [];
  const counted = async (value: string, own?: string): Promise<Budget> => {
    const { values } = await listBudgetValues(prisma, { accountId, budgetId, value });
    const used = { ...budget, ...values[0], value };
    return own !== undefined && BigInt(own) < parseAmounts(used).limit ? { ...used, limitPicoUsd: own } : used;
  };
  if (dimension !== CHILD) return [await counted(named)];
  return Promise.all(listChain(named).map((child, depth) => counted(child, budget.unit === 'usd' ? childLimits[depth] : undefined)));
}

/** Returns the lowest limit. Null is no limit. */
function tightest<Limit extends number | null>(ofProject: Limit, ...others: (number | null)[]): number | Limit {
  const limits = [ofProject, ...others].filter((limit) => limit !== null);
  return limits.length > 0 ? Math.min(...limits) : ofProject;
}

/**
 * Sums the usage of a key. See `queryUsage`.
 * @throws {ServiceError} `not_found` for an unknown key, `invalid_request` for a field.
 */
export async function queryOwnUsage(prisma: PrismaClient, request: OwnKeyUsageRequest): Promise<UsageQueryReply> {
  // The rollups are indexed by account.
  return queryUsage(prisma, { ...request, accountId: await readKeyAccount(prisma, request.keyId) });
}

/** @throws {ServiceError} `not_found` */
export async function readKeyAccount(prisma: PrismaClient, keyId: string): Promise<string> {
  const key = await prisma.apiKey.findUnique({ where: { id: keyId }, select: { project: { select: { accountId: true } } } });
  if (!key) throw new ServiceError('not_found', 'There is no such key.', 'keyId');
  return key.project.accountId;
}

/**
 * Returns a request of a key.
 * @throws {ServiceError} `not_found`, also for the request of another key, or of another child key than was asked for and those below it.
 */
export async function showOwnRequest(prisma: PrismaClient, { keyId, child, requestId }: OwnKeyRequestRequest): Promise<BilledRequest> {
  const request = await showRequest(prisma, requestId);
  const made = request.attribution[CHILD];
  if (request.keyId !== keyId || (child !== undefined && (made === undefined || !isBelowChild(made, child)))) throw noSuchRequest();
  return request;
}
