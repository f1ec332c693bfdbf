import { OWN_USAGE_GROUPS, type OwnKeyUsageRequest, type OwnUsageGroup } from '#contracts/billing/own-key.js';
import { USAGE_STEPS, type UsageStep } from '#contracts/billing/usage.js';
import { GatewayError } from '#inference/errors.js';

const LIMIT_MAX = 1_000;

/**
 * Parses the query string of `GET /v1/usage`. Without `from` the usage begins with the month, in UTC. Unknown parameters are ignored.
 * @throws {GatewayError} `invalid_request` with the parameter. Billing checks times, the name of the tag and the cursor.
 */
export function parseUsageQuery(query: URLSearchParams, now = new Date()): Omit<OwnKeyUsageRequest, 'keyId'> {
  const given = (name: string): string | undefined => query.get(name) || undefined;
  const groupBy = given('group_by')?.split(',');
  const limit = given('limit');
  return {
    from: given('from') ?? new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth())).toISOString(),
    to: given('to'),
    step: given('step') === undefined ? undefined : oneOf<UsageStep>('step', USAGE_STEPS, given('step')),
    groupBy: groupBy && [...new Set(groupBy.map((group) => oneOf<OwnUsageGroup>('group_by', OWN_USAGE_GROUPS, group.trim())))],
    tag: given('tag'),
    limit: limit === undefined ? undefined : parseLimit(limit),
    cursor: given('cursor'),
  };
}

function oneOf<Value extends string>(param: string, values: readonly Value[], value: string | undefined): Value {
  const found = values.find((one) => one === value);
  if (found === undefined) throw new GatewayError('invalid_request', `${param} takes ${values.join(', ')}.`, { param });
  return found;
}

function parseLimit(text: string): number {
  const limit = Number(text);
  if (/^\d+$/.test(text) && limit >= 1 && limit <= LIMIT_MAX) return limit;
  throw new GatewayError('invalid_request', `limit is an integer from 1 to ${LIMIT_MAX}.`, { param: 'limit' });
}
