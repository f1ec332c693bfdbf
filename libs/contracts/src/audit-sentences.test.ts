import { globSync, readFileSync } from 'node:fs';
import { AUDITED_ACTIONS, type AuditWords, describeAudit } from './rules/audit-sentences.js';

const ID = '0190a6f0-7c1e-7000-8000-000000000001';
const OTHER = '0190b000-7c1e-7000-8000-000000000002';
const NAMES: Record<string, string> = {
  [`account/${ID}`]: 'acme',
  [`project/${ID}`]: 'web',
  [`key/${ID}`]: 'ci',
  [`user/${ID}`]: 'ada@example.com',
  [`budget/${ID}`]: 'daily budget of project web',
};
const WORDS: AuditWords = {
  name: (kind, id) => NAMES[`${kind}/${id}`],
  usd: (pico) => `$${Number(pico) / 1e12}`,
  time: (at) => at.slice(0, 10),
};

const describeRow = (action: string, target: string, before: object | null, after: object | null, accountId: string | null = ID) =>
  describeAudit({ action, target, accountId, before: before as Record<string, unknown>, after: after as Record<string, unknown> }, WORDS);

test('every action that a service records has a sentence, and no other', () => {
  const sources = globSync('apps/{billing,catalog,panel,payments}/src/**/*.ts').filter((file) => !/\.test\.ts$|\/testing\//.test(file));
  const lines = sources.flatMap((file) => readFileSync(file, 'utf8').split('\n'));
  const recording = lines.filter((line) => /\baction\b|describeChange\(|recordMovement\(|record_audit\(/.test(line));
  const recorded = recording.flatMap((line) => [...line.matchAll(/'([a-z-]+\.[a-z-]+)'/g)].map(([, action]) => action));
  expect([...AUDITED_ACTIONS].sort()).toEqual([...new Set(recorded)].sort());
});

test.each<[sentence: string, row: Parameters<typeof describeRow>]>([
  [
    'set a daily budget of $0.003 on project web',
    [
      'budget.create',
      `budget/${OTHER}`,
      null,
      {
        ...{ period: 'day', projectId: ID, keyId: null, dimension: null, value: null, limitPicoUsd: '3000000000' },
      },
    ],
  ],
  [
    'set a monthly budget of 500 tokens on each team of account acme',
    [
      'budget.create',
      `budget/${OTHER}`,
      null,
      {
        ...{ period: 'month', projectId: null, keyId: null, dimension: 'tag:team', value: null, limitTokens: 500 },
      },
    ],
  ],
  [
    'set the daily budget of project web to $5, before $0.003',
    [...(['budget.update', `budget/${ID}`, { limitPicoUsd: '3000000000' }, { limitPicoUsd: '5000000000000' }] as const)],
  ],
  [
    'set the daily budget of user=ann of project web to $5, before $0.003',
    [
      ...([
        'budget.update',
        `budget/${OTHER}`,
        { period: 'day', projectId: ID, dimension: 'user', value: 'ann', limitPicoUsd: '3000000000' },
        { period: 'day', projectId: ID, dimension: 'user', value: 'ann', limitPicoUsd: '5000000000000' },
      ] as const),
    ],
  ],
  [
    'changed key ci: models all → sim-fast, note none → a',
    ['key.update', `key/${ID}`, { models: [], note: null }, { models: ['sim-fast'], note: 'a' }],
  ],
  ['replaced key ci until 2027-01-02', ['key.rotate', `key/${ID}`, { expiresAt: null }, { expiresAt: '2027-01-02T03:04:05.678Z' }]],
  [
    'set the limit of a budget to $5, before $0.003: thresholds 50 → none',
    [
      ...([
        'budget.update',
        `budget/${OTHER}`,
        { limitPicoUsd: '3000000000', thresholds: [50] },
        { limitPicoUsd: '5000000000000', thresholds: [] },
      ] as const),
    ],
  ],
  [
    'removed the total budget of $0 on key ci',
    ['budget.remove', `budget/${OTHER}`, { period: 'total', projectId: ID, keyId: ID, limitPicoUsd: '0' }, null],
  ],
  [
    'froze account acme',
    ['account.update', `account/${ID}`, { status: 'active', statusReason: null }, { status: 'frozen', statusReason: 'late' }],
  ],
  [
    'changed account acme: credit line none → $500, requests per minute 600 → none',
    [
      ...([
        'account.update',
        `account/${ID}`,
        { creditLinePicoUsd: null, requestsPerMinuteMax: 600 },
        { creditLinePicoUsd: '500000000000000', requestsPerMinuteMax: null },
      ] as const),
    ],
  ],
  [
    'disabled project web: tags none → team, env',
    ['project.update', `project/${ID}`, { enabled: true, tags: [] }, { enabled: false, tags: ['team', 'env'] }],
  ],
  ['made key cd of project web', ['key.create', `key/${OTHER}`, null, { name: 'cd', projectId: ID }]],
  ['revoked key 0190b000-7c1e', ['key.revoke', `key/${OTHER}`, { revokedAt: null }, { revokedAt: 'now' }]],
  [
    'topped up account acme by $25 (inv-1)',
    ['topup.create', `movement/${OTHER}`, null, { amountPicoUsd: '25000000000000', reference: 'inv-1' }],
  ],
  [
    'took $2.5 from account acme (adj-1)',
    ['adjustment.create', `movement/${OTHER}`, null, { amountPicoUsd: '-2500000000000', reference: 'adj-1' }],
  ],
  [
    'subscribed account acme to a plan of $20 each month',
    ['plan.subscribe', `subscription/${OTHER}`, null, { amountPicoUsd: '20000000000000', period: 'month' }],
  ],
  [
    'muted the webhook to https://hooks.example.com for account acme',
    ['webhook.update', `webhook/${OTHER}`, { muted: false }, { origin: 'https://hooks.example.com', muted: true }],
  ],
  [
    'switched on statements of account acme by mail to user 0190b000-7c1e',
    ['statement-mail.create', `user/${OTHER}`, { mailed: false }, { mailed: true }],
  ],
  ['closed month 2027-01', ['month.close', 'month/2027-01', null, {}, null]],
  [
    'set automatic top-ups of account acme: $10 below $5, at most $35 a month',
    [
      'auto-topup.set',
      `account/${ID}`,
      null,
      { thresholdPicoUsd: '5000000000000', amountPicoUsd: '10000000000000', monthlyCapPicoUsd: '35000000000000' },
    ],
  ],
  [
    'applied revision 3 of the catalog from c.yaml: 2 models added, 1 model repriced',
    [
      'catalog.apply',
      'revision/3',
      { revision: 2 },
      {
        ...{ revision: 3, fileName: 'c.yaml', models: { added: ['a', 'b'], changed: [], disabled: [] }, repriced: [{}] },
      },
      null,
    ],
  ],
  ['made ada@example.com finance of account acme, before viewer', ['member.update', `user/${ID}`, { role: 'viewer' }, { role: 'finance' }]],
  ['kept ada@example.com out of the panel', ['user.update', `user/${ID}`, { disabled: false }, { disabled: true }, null]],
  ['was refused GET /panel/v1/margin', ['permission.refuse', 'GET /panel/v1/margin', null, null, null]],
  ['colour.mix pot/1: hue red → blue, more {"a":1}', ['colour.mix', 'pot/1', { hue: 'red' }, { hue: 'blue', more: { a: 1 } }]],
  ['toString target', ['toString', 'target', null, null]],
])('%s', (sentence, row) => {
  expect(describeRow(...row)).toBe(sentence);
});

test('a thing is a link where the words make links', () => {
  const words: AuditWords = { ...WORDS, link: (text, kind, id) => `[${text}](${kind}/${id})` };
  const entry = { action: 'key.create', accountId: ID, target: `key/${OTHER}`, before: null, after: { name: 'cd', projectId: ID } };
  expect(describeAudit(entry, words)).toBe(`made [key cd](key/${OTHER}) of [project web](project/${ID})`);
});

test.each([...AUDITED_ACTIONS])('a row of %s with other fields is a sentence too', (action) => {
  const odd = { amountPicoUsd: 'x', limitPicoUsd: 7, period: 1, name: [], models: 4, repriced: 'all', email: {}, disabled: 'yes' };
  for (const fields of [null, {}, odd]) {
    for (const target of ['x', `key/${OTHER}`]) {
      const sentence = describeRow(action, target, fields, fields, null);
      expect(sentence).toMatch(/^\S.*\S$/);
      expect(sentence).not.toMatch(/undefined|NaN|\[object/);
    }
  }
});
