import { OWN_USAGE_GROUPS } from '#contracts/billing/own-key.js';
import { USAGE_STEPS } from '#contracts/billing/usage.js';
import { renderOwnKey, renderRequest, renderUsage } from '../http/endpoints/render-own-key.js';

const MOMENT = 'A date such as `2027-01-31` (midnight UTC), or a time such as `2027-01-31T12:00:00Z`.';

export const USAGE_PARAMETERS = [
  inQuery('from', `Start, included. ${MOMENT} Default: the start of the month in UTC.`, { type: 'string' }),
  inQuery('to', 'End, excluded, at most 366 days later. Default: now.', { type: 'string' }),
  inQuery('step', 'One row per hour or day, in UTC. Default: one for the whole time.', { type: 'string', enum: [...USAGE_STEPS] }),
  inQuery(
    'group_by',
    `One row per value. Several of ${OWN_USAGE_GROUPS.join(', ')} are separated by commas; with user, tag, client, session, agent or child for at most 31 days.`,
    {
      type: 'string',
    },
  ),
  inQuery('tag', 'Name of the tag to group by.', { type: 'string' }),
  inQuery('limit', 'Rows on one page.', { type: 'integer', minimum: 1, maximum: 1_000, default: 100 }),
  inQuery('cursor', '`next_cursor` of the page before, with the same query.', { type: 'string' }),
];

function inQuery(name: string, description: string, schema: object) {
  return { name, in: 'query', description, schema };
}

export const REQUEST_ID = {
  name: 'id',
  in: 'path',
  required: true,
  description: '`x-request-id` of the reply.',
  schema: { type: 'string' },
};

const KEY_ID = '0190a6f0-7c1e-7000-8000-00000000000c';
const ACCOUNT_ID = '0190a6f0-7c1e-7000-8000-00000000000a';
const PROJECT_ID = '0190a6f0-7c1e-7000-8000-00000000000b';

export const KEY_EXAMPLE = renderOwnKey({
  keyId: KEY_ID,
  rootKeyId: KEY_ID,
  projectId: PROJECT_ID,
  accountId: ACCOUNT_ID,
  name: 'agents',
  note: null,
  lastFour: 'x4Qd',
  createdAt: '2026-11-01T09:00:00.000Z',
  createdBy: null,
  expiresAt: '2027-11-01T09:00:00.000Z',
  disabled: false,
  replacedBy: null,
  revokedAt: null,
  status: 'active',
  lastUsedAt: '2026-11-21T06:31:48.639Z',
  models: ['sim-*'],
  networks: [],
  requestsPerMinuteMax: 60,
  tokensPerMinuteMax: null,
  concurrencyMax: null,
  tightest: { requestsPerMinuteMax: 60, tokensPerMinuteMax: null, concurrencyMax: 50 },
  budgets: [
    {
      budgetId: '0190a6f0-7c1e-7000-8000-00000000000d',
      accountId: ACCOUNT_ID,
      projectId: PROJECT_ID,
      keyId: KEY_ID,
      dimension: null,
      value: null,
      period: 'month',
      timeZone: 'UTC',
      startDay: 1,
      unit: 'usd',
      limitPicoUsd: '50000000000000',
      spentPicoUsd: '12340000000000',
      heldPicoUsd: '5000000000',
      thresholds: [50, 80, 100],
      windowStart: '2026-11-01T00:00:00.000Z',
      resetsAt: '2026-12-01T00:00:00.000Z',
      createdAt: '2026-11-01T09:00:00.000Z',
    },
  ],
});

export const USAGE_EXAMPLE = renderUsage({
  from: '2026-11-21T00:00:00.000Z',
  to: '2026-11-21T12:00:00.000Z',
  rows: [
    {
      model: 'sim-fast',
      requests: 12,
      estimatedRequests: 0,
      promptTokens: 14400,
      cachedTokens: 2400,
      outputTokens: 3600,
      reasoningTokens: 0,
      costPicoUsd: '3996000000',
      forfeitedPicoUsd: '0',
    },
  ],
  nextCursor: null,
});

export const REQUEST_EXAMPLE = renderRequest({
  requestId: 'req_0190a6f07c1e70008000000000000001',
  holdId: '0190a6f0-7c1e-7000-8000-000000000001',
  accountId: ACCOUNT_ID,
  projectId: PROJECT_ID,
  keyId: KEY_ID,
  model: 'sim-fast',
  attribution: { user: 'alice', client: 'OpenAI/Python', 'tag:team': 'search' },
  upstream: 'local',
  traceId: null,
  heldPicoUsd: '5000000000',
  price: { version: 1, inputPicoUsd: '150000', cachedInputPicoUsd: '15000', outputPicoUsd: '600000' },
  reservedAt: '2026-11-21T06:31:48.053Z',
  settlement: {
    reason: 'completed',
    settledBy: 'gateway',
    usage: {
      promptTokens: 1200,
      cachedTokens: 200,
      outputTokens: 300,
      reasoningTokens: 0,
      promptSource: 'reported',
      outputSource: 'reported',
    },
    overPicoUsd: '0',
    settledAt: '2026-11-21T06:31:48.639Z',
    costPicoUsd: '333000000',
    paid: { planPicoUsd: '333000000', topupPicoUsd: '0', endedPlanPicoUsd: '0' },
    writtenOffPicoUsd: '0',
    reaped: null,
  },
  creditNotes: [],
});
