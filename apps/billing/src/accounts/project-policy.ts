import { isDeepStrictEqual } from 'node:util';
import type { ProjectPolicy } from '#contracts/billing/project-policy.js';
import { ServiceError } from '#contracts/service-error.js';
import { Prisma } from '#database/prisma-client.js';
import type { Level } from '../limits/operator-limits.js';

/**
 * Returns the value to store for a change of a project's policy: null removes it, undefined keeps it. The operator runs the policies and
 * answers for what they get and stop, so no customer chooses one, or goes without.
 * @throws {ServiceError} `permission_denied` for a change by a customer.
 */
export function storePolicy(
  stored: Prisma.JsonValue,
  policy: ProjectPolicy | null | undefined,
  level: Level,
): Prisma.InputJsonObject | typeof Prisma.DbNull | undefined {
  if (policy === undefined) return undefined;
  const wanted = policy && pickFields(policy);
  if (level === 'customer' && !isDeepStrictEqual(wanted, stored)) {
    throw new ServiceError('permission_denied', 'Only the operator sets the policy of a project.', 'policy');
  }
  return wanted ?? Prisma.DbNull;
}

/** Returns the policy of a row. */
export function readPolicy(stored: Prisma.JsonValue): ProjectPolicy {
  return pickFields(stored as unknown as ProjectPolicy);
}

function pickFields({ name, deadlineMs, fail, sendText }: ProjectPolicy) {
  return { name, deadlineMs, fail, sendText };
}
