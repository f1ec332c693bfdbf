import type { MutationsByFile } from './mutation.js';

const DECIDED = 'apps/billing/src/events/decide-events.test.ts';
const DELIVERED = 'apps/billing/src/events/event-deliverer.integration.test.ts';
const WRITTEN = 'apps/billing/src/events/money-events.integration.test.ts';
const WEBHOOKS = 'apps/billing/src/webhooks/webhooks.integration.test.ts';
const OWN_KEY = 'apps/billing/src/keys/own-key.integration.test.ts';
const ATTRIBUTION = 'apps/gateway/src/http/attribution.test.ts';
const PLANS = 'libs/money/src/price-plan.test.ts';
const CATALOG = 'apps/gateway/src/clients/catalog.test.ts';
const CALLER = 'apps/gateway/src/clients/caller.test.ts';
const KEY_LISTS = 'apps/gateway/src/http/limits/key-lists.test.ts';

/** Mutations of money events, attribution, price plans, and of what a key may use and see. */
export const MUTATIONS_OF_GOVERNANCE: MutationsByFile = {
  'apps/billing/src/events/decide-events.ts': [
    ['a threshold that was told is marked', 'budget.passed = percent;', '', DECIDED, 'each threshold is told once'],
    [
      'what others hold is no reason for an event of the balance',
      'if (usd <= balance) return;',
      '',
      DECIDED,
      'the balance could not cover it even if nothing were held',
    ],
    [
      'what others hold is no reason for an event of a budget',
      'if (required <= budget.limit - spent) return;',
      '',
      DECIDED,
      'the budget could not cover it even if nothing were held',
    ],
    [
      'a budget of each user tells no refusal',
      'if (!budget || isOfEach(budget)) return;',
      'if (!budget) return;',
      DECIDED,
      'by that of each user it is none',
    ],
    [
      'a batch from memory knows the next threshold of a user',
      'if (change) change.nextThreshold = nextThreshold(budget);',
      '',
      DECIDED,
      'each threshold is told once',
    ],
    ['of the refusals of an account one a minute is an event', 'account.refusedAt = draft.now;', '', WRITTEN, 'once for many refusals'],
  ],
  'apps/billing/src/holds/apply-cached.ts': [
    [
      'a batch with events is written under the lock',
      'if (applied.rows.events.length > 0) return undefined;',
      '',
      WRITTEN,
      'a budget: each threshold once',
    ],
  ],
  'apps/billing/src/events/keep-events.ts': [
    [
      'events wait for NATS before they are deleted',
      'AND e.published_at IS NOT NULL',
      '',
      DELIVERED,
      'old events that wait for NATS are kept',
    ],
    [
      'events wait for webhooks before they are deleted',
      'AND d.done < e.sequence)',
      'AND false)',
      DELIVERED,
      'old events are deleted when they are delivered',
    ],
    [
      'a key is announced once for each end',
      "AND e.payload ->> 'expiresAt' =",
      "AND e.payload ->> 'expiresAt' >=",
      DELIVERED,
      'one event for each end that it is given',
    ],
  ],
  'apps/billing/src/events/publish-events.ts': [
    [
      'events are published in their order',
      'ORDER BY e.account_id, e.sequence LIMIT',
      'ORDER BY e.id DESC LIMIT',
      DELIVERED,
      'one replica delivers at a time',
    ],
  ],
  'apps/billing/src/events/event-deliverer.ts': [
    [
      'one replica delivers',
      'if (!(await this.lead(connection))) return this.options.onCounted?.(undefined);',
      'await this.lead(connection);',
      DELIVERED,
      'one replica delivers at a time',
    ],
    [
      'the lock goes with its connection',
      'this.connection = undefined;\n    this.leading = false;',
      'this.leading = false;',
      DELIVERED,
      'the death of the leader',
    ],
  ],
  'apps/billing/src/webhooks/webhook-deliveries.ts': [
    ['one event of an account is on its way at a time', ' || accounts.has(row.account_id)', '', DELIVERED, 'is repeated in its place'],
    ['a replay wins over a delivery', ' AND done = $3', '', DELIVERED, 'a replay during a delivery'],
    ['an event that is given up is a dead letter', 'if (row.is_old) {', 'if (false) {', DELIVERED, 'is given up at the next failure'],
    ['a refused event is repeated', 'if (failure === undefined) {', 'if (failure !== null) {', DELIVERED, 'is repeated in its place'],
  ],
  'apps/billing/src/webhooks/webhook-signature.ts': [
    ['both secrets sign during a rotation', 'hasPrevious && version > 1', 'false', WEBHOOKS, 'messages are signed with both secrets'],
    ['the salt is part of the secret', "salt === ''", 'true', WEBHOOKS, 'added with the same id has another secret'],
    ['the time is signed', 'id}.${sentAt', 'id}.${0', WEBHOOKS, 'gets the events of its account, signed'],
  ],
  'apps/billing/src/webhooks/webhook-client.ts': [
    [
      'a private address behind a name is refused',
      'lookup: guardedLookup(allowPrivateNetwork, resolve),',
      'lookup: guardedLookup(true, resolve),',
      WEBHOOKS,
      'a name that resolves to a private address',
    ],
    [
      'a redirect is a failure',
      'statusCode >= 200 && statusCode < 300',
      'statusCode >= 200 && statusCode < 400',
      WEBHOOKS,
      'a redirect is not followed',
    ],
  ],
  'apps/billing/src/keys/own-key.ts': [
    [
      'a key sees its own requests',
      'if (request.keyId !== keyId) throw noSuchRequest();',
      '',
      OWN_KEY,
      'that of another is as unknown as none',
    ],
    [
      'a key sees its own usage',
      '{ ...request, accountId: await accountOfKey(',
      '{ ...request, keyId: undefined, accountId: await accountOfKey(',
      OWN_KEY,
      'the usage of a key is that of its own requests',
    ],
    [
      'a key sees no budgets of other keys',
      '(of.keyId === null && (of.projectId ?? key.projectId) === key.projectId)',
      'of.keyId !== keyId',
      OWN_KEY,
      'the budgets that its requests count against',
    ],
  ],
  'apps/gateway/src/http/attribution.ts': [
    ['a name twice is refused', 'if (seen.has(name)) throw', 'if (false) throw', ATTRIBUTION, 'x-tollgate-tags of'],
    ['tags have a limit', 'if (Object.keys(attribution).length > TAGS_MAX)', 'if (false)', ATTRIBUTION, 'x-tollgate-tags of'],
    ['values of tags have a limit', ' || value.length > ATTRIBUTION_LENGTHS.tag', '', ATTRIBUTION, 'x-tollgate-tags of'],
    [
      'names of what objects inherit are no tags',
      'metadata !== undefined && Object.hasOwn(metadata, name)',
      'metadata !== undefined',
      ATTRIBUTION,
      'pairs of metadata are tags if the project says so',
    ],
  ],
  'apps/gateway/src/protocols/body-fields/body-attribution.ts': [
    ['texts of a body have a limit', '.slice(0, lengthMax)', '', ATTRIBUTION, 'the body names a text of 300 characters'],
    [
      'the session of Claude Code is no part of the user',
      ': { user: of(user), session: of(session) };',
      ': { user: of(userId), session: of(session) };',
      ATTRIBUTION,
      'the body names metadata.user_id of an older Claude Code',
    ],
  ],
  'libs/money/src/price-plan.ts': [
    [
      'prices are rounded half up',
      '(price * part + ALL / 2n) / ALL',
      '(price * part) / ALL',
      PLANS,
      'is within half a pico-USD of the exact one',
    ],
    [
      'the price of a model wins over the discount',
      'own.get(modelId) ?? share(list, paid)',
      'share(list, paid)',
      PLANS,
      'the price of a single model wins',
    ],
  ],
  'apps/gateway/src/clients/catalog.ts': [
    ['the hold pins the plan', ', pricePlan: plan.id }', ' }', CATALOG, 'pins its name with the version of the list price'],
    [
      'a key calls its models alone',
      'if (!model || caller.mayUse?.(id) === false)',
      'if (!model)',
      KEY_LISTS,
      'gets the error of an unknown model',
    ],
    ['a key lists its models alone', 'mayUse ? models.filter(({ id }) => mayUse(id)) : models', 'models', KEY_LISTS, 'lists them alone'],
  ],
  'apps/gateway/src/clients/caller.ts': [
    ['one pattern of several is enough', 'matchers.some(', 'matchers.every(', CALLER, 'several patterns allow what one of them allows'],
    [
      'a network has its prefix',
      "Number(prefix ?? (family === 'ipv4' ? 32 : 128))",
      "family === 'ipv4' ? 8 : 32",
      CALLER,
      'the network 10.1.2.3 of clients',
    ],
  ],
  'apps/gateway/src/http/limits/api-key.guard.ts': [
    [
      'a key is used from its networks alone',
      'if (caller.mayCallFrom?.(exchange.address) === false) {',
      'if (false) {',
      KEY_LISTS,
      'is refused from any other address',
    ],
  ],
};
