import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError } from '#config/load-config.js';
import type { Endpoint } from '#contracts/endpoint.js';
import { ServiceError } from '#contracts/service-error.js';
import { type Messaging, MessagingError } from '#messaging/messaging.js';
import { collectRun } from '../test/collect-run.js';
import { COMMANDS } from './commands/table.js';
import { runCli } from './run-cli.js';

const ID = '0190a6f0-7c1e-7000-8000-000000000001';
const KEY_ID = '0190a6f0-7c1e-7000-8000-000000000002';
const AT = '2026-11-21T00:00:00.000Z';
const NEW_KEY = {
  ...{
    key: 'tg_live_secret',
    keyId: KEY_ID,
    rootKeyId: KEY_ID,
    projectId: ID,
    name: null,
    note: null,
    lastFour: 'cret',
    createdAt: AT,
    createdBy: 'Ann',
  },
  ...{
    expiresAt: null,
    disabled: false,
    models: [],
    networks: [],
    requestsPerMinuteMax: null,
    concurrencyMax: null,
    tokensPerMinuteMax: null,
    replacedBy: null,
    revokedAt: null,
  },
};

interface Result {
  code: number;
  out: string;
  err: string;
  /** The request to the service; null without one. */
  asked: { subject: string; payload: unknown } | null;
  connections: number;
  closed: number;
}

/** Runs a command line against services that answer with `reply`, with what it returns for a subject, or fail with it if it is an error. */
async function run(args: string[], reply: unknown = {}): Promise<Result> {
  const result: Pick<Result, 'asked' | 'connections' | 'closed'> = { asked: null, connections: 0, closed: 0 };
  const fake: Pick<Messaging, 'request' | 'close'> = {
    request: async <Request extends object, Reply>({ subject }: Endpoint<Request, Reply>, payload: Request) => {
      result.asked = { subject, payload: JSON.parse(JSON.stringify(payload)) };
      const answer: unknown = typeof reply === 'function' ? reply(subject, result.asked.payload) : reply;
      if (answer instanceof Error) throw answer;
      return answer as Reply;
    },
    close: async () => {
      result.closed += 1;
    },
  };
  const written = await collectRun(args, async () => {
    result.connections += 1;
    return fake as Messaging;
  });
  return { ...written, ...result };
}

const words = (line: string) => line.split(' ');

describe('the request of each command', () => {
  test.each<[line: string, subject: string, payload: object]>([
    ['account create --name acme', 'billing.v1.account.create', { name: 'acme' }],
    ['account list', 'billing.v1.account.list', {}],
    [`balance --account ${ID}`, 'billing.v1.balance.get', { accountId: ID }],
    [`project create --account ${ID} --name web`, 'billing.v1.project.create', { accountId: ID, name: 'web' }],
    [
      `project create --account ${ID} --name web --rpm 600 --concurrency 50`,
      'billing.v1.project.create',
      { accountId: ID, name: 'web', requestsPerMinuteMax: 600, concurrencyMax: 50 },
    ],
    ['project list', 'billing.v1.project.list', {}],
    ['usage rebuild', 'billing.v1.usage.rebuild', {}],
    [
      'ledger losses --from 2027-01-01 --to 2027-02-01',
      'billing.v1.ledger.losses',
      { from: '2027-01-01T00:00:00.000Z', to: '2027-02-01T00:00:00.000Z' },
    ],
    ['month close 2027-01', 'billing.v1.month.close', { month: '2027-01' }],
    ['month detach 2027-01', 'billing.v1.month.detach', { month: '2027-01' }],
    ['month attach 2027-01', 'billing.v1.month.attach', { month: '2027-01' }],
    ['month list', 'billing.v1.month.list', {}],
    [`request list --account ${ID} --ending failed --limit 7`, 'billing.v1.request.list', { accountId: ID, ending: 'failed', limit: 7 }],
    ['request list --sort cost --order asc', 'billing.v1.request.list', { sort: 'cost', order: 'asc' }],
    ['project list --cursor c', 'billing.v1.project.list', { cursor: 'c' }],
    ['account list --cursor c', 'billing.v1.account.list', { cursor: 'c' }],
    ['key list --cursor c', 'billing.v1.key.list', { cursor: 'c' }],
    [`project list --account ${ID}`, 'billing.v1.project.list', { accountId: ID }],
    [`project update ${ID} --rpm 7`, 'billing.v1.project.update', { projectId: ID, requestsPerMinuteMax: 7 }],
    [`project update ${ID} --disabled`, 'billing.v1.project.update', { projectId: ID, enabled: false }],
    [
      `project update ${ID} --enabled --name new --concurrency 3`,
      'billing.v1.project.update',
      { projectId: ID, enabled: true, name: 'new', concurrencyMax: 3 },
    ],
    [`key create --project ${ID}`, 'billing.v1.key.create', { projectId: ID }],
    [`key create --project ${ID} --name ci`, 'billing.v1.key.create', { projectId: ID, name: 'ci' }],
    [`key list --project ${ID}`, 'billing.v1.key.list', { projectId: ID }],
    [
      `key create --project ${ID} --note mine --expires 2027-02-01`,
      'billing.v1.key.create',
      { projectId: ID, note: 'mine', expiresAt: '2027-02-01T00:00:00.000Z' },
    ],
    [
      `key update ${KEY_ID} --name cd --note mine --expires 2027-02-01 --disabled`,
      'billing.v1.key.update',
      { keyId: KEY_ID, name: 'cd', note: 'mine', expiresAt: '2027-02-01T00:00:00.000Z', disabled: true },
    ],
    [`key update ${KEY_ID} --enabled --expires-never`, 'billing.v1.key.update', { keyId: KEY_ID, expiresAt: null, disabled: false }],
    [
      `key update ${KEY_ID} --name= --note= --expires-never`,
      'billing.v1.key.update',
      { keyId: KEY_ID, name: null, note: null, expiresAt: null },
    ],
    [
      `key create --project ${ID} --models gpt-*,o3 --networks 10.0.0.0/8,2001:db8::1`,
      'billing.v1.key.create',
      { projectId: ID, models: ['gpt-*', 'o3'], networks: ['10.0.0.0/8', '2001:db8::1'] },
    ],
    [
      `key create --project ${ID} --rpm 60 --concurrency 4 --tpm 100000`,
      'billing.v1.key.create',
      { projectId: ID, requestsPerMinuteMax: 60, concurrencyMax: 4, tokensPerMinuteMax: 100_000 },
    ],
    [
      `key create --project ${ID} --model-limits o3=rpm:5`,
      'billing.v1.key.create',
      { projectId: ID, modelLimits: [{ model: 'o3', requestsPerMinuteMax: 5 }] },
    ],
    [
      `key update ${KEY_ID} --rpm= --concurrency= --tpm 5`,
      'billing.v1.key.update',
      { keyId: KEY_ID, requestsPerMinuteMax: null, concurrencyMax: null, tokensPerMinuteMax: 5 },
    ],
    [`project update ${ID} --tpm=`, 'billing.v1.project.update', { projectId: ID, tokensPerMinuteMax: null }],
    [`project update ${ID} --tags team,env`, 'billing.v1.project.update', { projectId: ID, tags: ['team', 'env'] }],
    [`project update ${ID} --model-limits=`, 'billing.v1.project.update', { projectId: ID, modelLimits: [] }],
    [
      `key update ${KEY_ID} --model-limits gpt-*=tpm:1000,rpm:6;o3=rpm:5`,
      'billing.v1.key.update',
      {
        keyId: KEY_ID,
        modelLimits: [
          { model: 'gpt-*', requestsPerMinuteMax: 6, tokensPerMinuteMax: 1_000 },
          { model: 'o3', requestsPerMinuteMax: 5 },
        ],
      },
    ],
    [`project update ${ID} --tpm 1000`, 'billing.v1.project.update', { projectId: ID, tokensPerMinuteMax: 1_000 }],
    [`key update ${KEY_ID} --models= --networks=`, 'billing.v1.key.update', { keyId: KEY_ID, models: [], networks: [] }],
    [`key rotate ${KEY_ID}`, 'billing.v1.key.rotate', { keyId: KEY_ID, graceSeconds: 86_400 }],
    [`key rotate ${KEY_ID} --grace 0s --expires-never`, 'billing.v1.key.rotate', { keyId: KEY_ID, graceSeconds: 0, expiresAt: null }],
    [`key rotate ${KEY_ID} --grace 30d`, 'billing.v1.key.rotate', { keyId: KEY_ID, graceSeconds: 2_592_000 }],
    [`key revoke ${KEY_ID}`, 'billing.v1.key.revoke', { keyId: KEY_ID }],
    [
      `key mint-child ${KEY_ID} --expires-in 30m --limit 0.20 --models sim-*,o3 --tags team=search`,
      'billing.v1.child-key.mint',
      { keyId: KEY_ID, seconds: 1_800, limitPicoUsd: '200000000000', models: ['sim-*', 'o3'], tags: { team: 'search' } },
    ],
    [`key children ${KEY_ID} --limit 5`, 'billing.v1.child-key.list', { keyId: KEY_ID, limit: 5 }],
    [
      `key revoke-child ${KEY_ID} 1798761600-9f86d081884c7d65`,
      'billing.v1.child-key.revoke',
      { keyId: KEY_ID, childId: '1798761600-9f86d081884c7d65' },
    ],
    [
      `budget set --account ${ID} --key ${KEY_ID} --period day --limit 5.00 --time-zone Europe/Berlin`,
      'billing.v1.budget.set',
      { accountId: ID, keyId: KEY_ID, period: 'day', limitPicoUsd: '5000000000000', timeZone: 'Europe/Berlin' },
    ],
    [
      `budget set --account ${ID} --period week --limit-tokens 5000000000 --week-start sunday`,
      'billing.v1.budget.set',
      { accountId: ID, period: 'week', limitTokens: 5_000_000_000, startDay: 7 },
    ],
    [
      `budget set --account ${ID} --period month --limit 1 --month-start 28`,
      'billing.v1.budget.set',
      { accountId: ID, period: 'month', limitPicoUsd: '1000000000000', startDay: 28 },
    ],
    [
      `budget set --account ${ID} --project ${ID} --period total --limit 0`,
      'billing.v1.budget.set',
      { accountId: ID, projectId: ID, period: 'total', limitPicoUsd: '0' },
    ],
    ...(
      [
        ['--each-user', { dimension: 'user' }],
        ['--user alice', { dimension: 'user', value: 'alice' }],
        ['--each-session', { dimension: 'session' }],
        ['--session run-1', { dimension: 'session', value: 'run-1' }],
        ['--each-client', { dimension: 'client' }],
        ['--each-agent', { dimension: 'agent' }],
        ['--each-child', { dimension: 'child' }],
        ['--each-tag team', { dimension: 'tag:team' }],
        ['--tag team=a=b', { dimension: 'tag:team', value: 'a=b' }],
      ] as const
    ).map(([flags, of]): [string, string, object] => [
      `budget set --account ${ID} --period day --limit 1 ${flags}`,
      'billing.v1.budget.set',
      { accountId: ID, ...of, period: 'day', limitPicoUsd: '1000000000000' },
    ]),
    [
      `budget values ${KEY_ID} --account ${ID} --value alice --limit 5`,
      'billing.v1.budget.values',
      { accountId: ID, budgetId: KEY_ID, value: 'alice', limit: 5 },
    ],
    [`budget list --account ${ID}`, 'billing.v1.budget.list', { accountId: ID }],
    [`budget show ${KEY_ID} --account ${ID}`, 'billing.v1.budget.list', { accountId: ID, budgetId: KEY_ID }],
    [
      `budget set --account ${ID} --period month --limit 1 --thresholds 75,90`,
      'billing.v1.budget.set',
      { accountId: ID, period: 'month', limitPicoUsd: '1000000000000', thresholds: [75, 90] },
    ],
    [
      `budget set --account ${ID} --period month --limit 1 --thresholds=`,
      'billing.v1.budget.set',
      { accountId: ID, period: 'month', limitPicoUsd: '1000000000000', thresholds: [] },
    ],
    [`webhook add --url https://example.com/ --account ${ID}`, 'billing.v1.webhook.add', { url: 'https://example.com/', accountId: ID }],
    [
      'webhook add --url http://127.0.0.1/ --allow-private-network',
      'billing.v1.webhook.add',
      { url: 'http://127.0.0.1/', allowPrivateNetwork: true },
    ],
    ['webhook add --url https://example.com/ --format slack', 'billing.v1.webhook.add', { url: 'https://example.com/', format: 'slack' }],
    ['webhook list', 'billing.v1.webhook.list', {}],
    [`webhook test ${KEY_ID}`, 'billing.v1.webhook.test', { webhookId: KEY_ID }],
    [`webhook replay ${KEY_ID} --from 2027-01-31`, 'billing.v1.webhook.replay', { webhookId: KEY_ID, from: '2027-01-31T00:00:00.000Z' }],
    [`webhook rotate ${KEY_ID}`, 'billing.v1.webhook.rotate', { webhookId: KEY_ID, graceSeconds: 86_400 }],
    [`webhook rotate ${KEY_ID} --grace 0s`, 'billing.v1.webhook.rotate', { webhookId: KEY_ID, graceSeconds: 0 }],
    [`webhook remove ${KEY_ID}`, 'billing.v1.webhook.remove', { webhookId: KEY_ID }],
    [`webhook update ${KEY_ID} --mute`, 'billing.v1.webhook.update', { webhookId: KEY_ID, muted: true }],
    [`webhook update ${KEY_ID} --unmute`, 'billing.v1.webhook.update', { webhookId: KEY_ID, muted: false }],
    [`webhook deliveries ${KEY_ID} --account ${ID}`, 'billing.v1.webhook.deliveries', { webhookId: KEY_ID, accountId: ID }],
    [`webhook resend ${KEY_ID} ${ID}`, 'billing.v1.webhook.resend', { webhookId: KEY_ID, eventId: ID }],
    [`budget remove ${KEY_ID}`, 'billing.v1.budget.remove', { budgetId: KEY_ID }],
    [`budget remove ${KEY_ID} --account ${ID}`, 'billing.v1.budget.remove', { budgetId: KEY_ID, accountId: ID }],
    [
      `topup --account ${ID} --usd 25.00 --payment-id inv-1`,
      'billing.v1.topup.create',
      { accountId: ID, usd: '25.00', paymentId: 'inv-1' },
    ],
    [
      `plan grant --account ${ID} --usd 100 --expires 2027-02-01`,
      'billing.v1.plan.grant',
      { accountId: ID, usd: '100', expiresAt: '2027-02-01T00:00:00.000Z' },
    ],
    [
      `plan grant --account ${ID} --usd 0.5 --expires 2027-02-01T01:30:00+01:00 --grant-key k`,
      'billing.v1.plan.grant',
      { accountId: ID, usd: '0.5', expiresAt: '2027-02-01T00:30:00.000Z', grantKey: 'k' },
    ],
    [`plan subscribe --account ${ID} --usd 20 --period month`, 'billing.v1.plan.subscribe', { accountId: ID, usd: '20', period: 'month' }],
    [
      `plan subscribe --account ${ID} --usd 20 --period week --starts 2027-02-01 --time-zone Europe/Berlin`,
      'billing.v1.plan.subscribe',
      { accountId: ID, usd: '20', period: 'week', startsAt: '2027-02-01T00:00:00.000Z', timeZone: 'Europe/Berlin' },
    ],
    [`plan show --account ${ID}`, 'billing.v1.plan.show', { accountId: ID }],
    [`plan cancel --account ${ID}`, 'billing.v1.plan.cancel', { accountId: ID }],
    [`account update ${ID} --name new`, 'billing.v1.account.update', { accountId: ID, name: 'new' }],
    [`account update ${ID} --frozen --reason why`, 'billing.v1.account.update', { accountId: ID, status: 'frozen', statusReason: 'why' }],
    [`account update ${ID} --active --low-balance 5`, 'billing.v1.account.update', { accountId: ID, status: 'active', lowBalanceUsd: '5' }],
    [`account update ${ID} --price-plan gold`, 'billing.v1.account.update', { accountId: ID, pricePlan: 'gold' }],
    [`account update ${ID} --credit-line 500.00`, 'billing.v1.account.update', { accountId: ID, creditLineUsd: '500.00' }],
    [`account update ${ID} --credit-line 0`, 'billing.v1.account.update', { accountId: ID, creditLineUsd: '0' }],
    [
      `account update ${ID} --rpm 1200 --concurrency 100 --projects 300 --keys 5000 --model-limits o3=rpm:5`,
      'billing.v1.account.update',
      {
        ...{ accountId: ID, requestsPerMinuteMax: 1_200, concurrencyMax: 100, projectsMax: 300, activeKeysMax: 5_000 },
        modelLimits: [{ model: 'o3', requestsPerMinuteMax: 5 }],
      },
    ],
    [
      `account update ${ID} --rpm= --concurrency= --tpm=`,
      'billing.v1.account.update',
      { accountId: ID, requestsPerMinuteMax: null, concurrencyMax: null, tokensPerMinuteMax: null },
    ],
    [
      `account update ${ID} --price-plan gold --from 2027-01-01`,
      'billing.v1.account.update',
      { accountId: ID, pricePlan: 'gold', pricePlanFrom: '2027-01-01T00:00:00.000Z' },
    ],
    [`account update ${ID} --low-balance-off`, 'billing.v1.account.update', { accountId: ID, lowBalanceUsd: '0' }],
    [
      `refund --account ${ID} --refund-id r-1 --payment-id inv-1`,
      'billing.v1.refund.create',
      { accountId: ID, refundId: 'r-1', paymentId: 'inv-1' },
    ],
    [
      `refund --account ${ID} --refund-id r-2 --usd 2.5 --reason why`,
      'billing.v1.refund.create',
      { accountId: ID, refundId: 'r-2', usd: '2.5', reason: 'why' },
    ],
    [
      `adjust --account ${ID} --adjustment-id a-1 --usd 2.50 --reason why`,
      'billing.v1.adjustment.create',
      { accountId: ID, adjustmentId: 'a-1', usd: '2.50', reason: 'why' },
    ],
    [
      `adjust --account ${ID} --adjustment-id a-1 --usd=-2.50 --reason why`,
      'billing.v1.adjustment.create',
      { accountId: ID, adjustmentId: 'a-1', usd: '-2.50', reason: 'why' },
    ],
    [
      `adjust --account ${ID} --adjustment-id a-1 --usd -2.50 --reason why`,
      'billing.v1.adjustment.create',
      { accountId: ID, adjustmentId: 'a-1', usd: '-2.50', reason: 'why' },
    ],
    [
      'credit-note --request req_1 --note-id cn-1 --reason why',
      'billing.v1.credit-note.create',
      { requestId: 'req_1', noteId: 'cn-1', reason: 'why' },
    ],
    [
      'credit-note --request req_1 --note-id cn-1 --usd 0.01 --reason why',
      'billing.v1.credit-note.create',
      { requestId: 'req_1', noteId: 'cn-1', usd: '0.01', reason: 'why' },
    ],
    [`movements list --account ${ID}`, 'billing.v1.movement.list', { accountId: ID }],
    [
      `movements list --account ${ID} --from 2027-01-01 --to 2027-02-01 --kinds topup,refund,topup --limit 7 --cursor c`,
      'billing.v1.movement.list',
      {
        accountId: ID,
        from: '2027-01-01T00:00:00.000Z',
        to: '2027-02-01T00:00:00.000Z',
        kinds: ['topup', 'refund'],
        limit: 7,
        cursor: 'c',
      },
    ],
    [`usage --account ${ID} --from 2027-01-01`, 'billing.v1.usage.query', { accountId: ID, from: '2027-01-01T00:00:00.000Z' }],
    [
      `usage --account ${ID} --from 2027-01-01 --to 2027-01-02 --step hour --by key,model --project ${ID} --key ${KEY_ID} --model m --limit 7 --cursor c`,
      'billing.v1.usage.query',
      {
        accountId: ID,
        from: '2027-01-01T00:00:00.000Z',
        to: '2027-01-02T00:00:00.000Z',
        step: 'hour',
        groupBy: ['key', 'model'],
        projectId: ID,
        keyId: KEY_ID,
        model: 'm',
        limit: 7,
        cursor: 'c',
      },
    ],
    [
      `usage --account ${ID} --to 2027-01-31T12:00:00Z`,
      'billing.v1.usage.query',
      { accountId: ID, from: '2027-01-01T00:00:00.000Z', to: '2027-01-31T12:00:00.000Z' },
    ],
    ['holds list', 'billing.v1.hold.list', {}],
    [`holds list --account ${ID} --cursor c`, 'billing.v1.hold.list', { accountId: ID, cursor: 'c' }],
    ['request show req_1', 'billing.v1.request.show', { requestId: 'req_1' }],
    ['models list', 'catalog.v1.model.list', {}],
    ['catalog revisions --limit 5 --cursor c', 'catalog.v1.revision.list', { limit: 5, cursor: 'c' }],
    ['price list', 'catalog.v1.price.list', {}],
    [`price cancel ${ID}`, 'catalog.v1.price.cancel', { scheduledPriceId: ID }],
  ])('%s', async (line, subject, payload) => {
    const result = await run([...words(line), '--json'], { answer: 1 });
    expect(result).toEqual({ code: 0, out: '{\n  "answer": 1\n}\n', err: '', asked: { subject, payload }, connections: 1, closed: 1 });
  });

  test('an empty price plan is removed', async () => {
    const { asked } = await run(['account', 'update', ID, '--price-plan', '']);
    expect(asked?.payload).toEqual({ accountId: ID, pricePlan: null });
  });

  test('price show asks for the plan that the account had at the time: that before its first later change', async () => {
    const changes = [{ pricePlan: 'third' }, { name: 'old' }, { pricePlan: 'second' }];
    const price = { inputPicoUsd: '135000', cachedInputPicoUsd: '13500', outputPicoUsd: '540000' };
    const list = { inputPicoUsd: '150000', cachedInputPicoUsd: '15000', outputPicoUsd: '600000' };
    const replies: Record<string, unknown> = {
      'billing.v1.account.list': { accounts: [{ accountId: ID, pricePlan: 'fourth' }], nextCursor: null },
      'billing.v1.audit.list': { entries: changes.map((before) => ({ before })), nextCursor: null },
      'catalog.v1.price.show': { revision: 3, at: AT, pricePlan: 'second', prices: [{ model: 'm', price, list }] },
    };
    const at = '2025-01-01T00:00:00.000Z';
    const result = await run(['price', 'show', '--account', ID, '--at', at], (subject: string) => replies[subject]);
    expect(result.asked).toEqual({ subject: 'catalog.v1.price.show', payload: { at, pricePlan: 'second' } });
    expect(result.out).toBe(
      `price plan second, revision 3, ${AT}
MODEL  IN $/M  CACHED $/M  OUT $/M  LIST
m      $0.135  $0.0135     $0.54    $0.15 / $0.015 / $0.60
`,
    );
    const now = await run(['price', 'show', '--account', ID], (subject: string) => replies[subject]);
    expect(now.asked?.payload).toEqual({ pricePlan: 'fourth' });
  });

  test.each([
    ['2025-01-01T00:00:00.000Z', 'old'],
    ['2025-02-01T00:00:00.000Z', 'gold'],
    ['2098-01-01T00:00:00.000Z', 'first'],
    ['2099-01-01T00:00:00.000Z', undefined],
  ])('price show at %s knows the plan %s, which counts from its time on', async (at, pricePlan) => {
    const gold = { pricePlan: 'gold', from: '2025-02-01T00:00:00.000Z' };
    const account = { accountId: ID, pricePlan: 'first', nextPricePlan: { pricePlan: null, from: '2099-01-01T00:00:00.000Z' } };
    const replies: Record<string, unknown> = {
      'billing.v1.account.list': { accounts: [account], nextCursor: null },
      'billing.v1.audit.list': { entries: [{ before: { pricePlan: 'old', nextPricePlan: gold } }], nextCursor: null },
      'catalog.v1.price.show': { revision: 3, at: AT, pricePlan: null, prices: [] },
    };
    const { asked } = await run(['price', 'show', '--account', ID, '--at', at], (subject: string) => replies[subject]);
    expect(asked?.payload).toEqual({ at, ...(pricePlan && { pricePlan }) });
  });

  test('estimate sends the content of the file, and shows the hold with its price and caps', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tollgate-cli-'));
    const file = join(folder, 'body.json');
    writeFileSync(file, '{"model":"m"}');
    const price = { version: 2, inputPicoUsd: '150000', cachedInputPicoUsd: '15000', outputPicoUsd: '600000' };
    const tokens = { promptTokensMax: 12, promptTokensEstimate: 3, outputTokensMax: 100 };
    const result = await run(['estimate', file, '--format', 'messages'], { model: 'm', price, ...tokens, heldPicoUsd: '61800000' });
    await rm(folder, { recursive: true });
    expect(result).toMatchObject({
      asked: { subject: 'gateway.v1.request.estimate', payload: { protocol: 'messages', body: '{"model":"m"}' } },
      out: `model              m
price per million  $0.15 prompt, $0.015 cached prompt, $0.60 output (version 2)
prompt             at most 12 tokens, about 3
output             at most 100 tokens
would hold         $0.0000618 (61800000 pico), the most it can cost
`,
    });
  });

  test('catalog apply and catalog plan send the content of the file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tollgate-cli-'));
    const file = join(folder, 'mine.yaml');
    writeFileSync(file, 'models: []\n');
    const applied = await run(['catalog', 'apply', file], { revision: 3, changed: true, models: 1, upstreams: 2 });
    const stale = await run(
      ['catalog', 'apply', file, '--expected-revision', '2'],
      new ServiceError('conflict', 'The catalog has revision 3.', 'expectedRevision'),
    );
    const planned = await run(['catalog', 'plan', file], { revision: 3, faults: [{ line: 1, field: '', problem: 'bad' }], changes: null });
    const prices = { models: [], plansBefore: [], plansAfter: [] };
    const total = { requests: 0, chargedPicoUsd: '0', beforePicoUsd: '0', afterPicoUsd: '0' };
    const rated = { accounts: [], accountCount: 0, total, imagesUnknown: 0 };
    const plan = { revision: 3, faults: [], changes: null };
    const repriced = await run(['catalog', 'plan', file, '--month', '2027-01'], (subject: string) =>
      subject === 'billing.v1.usage.rerate' ? rated : { ...plan, prices },
    );
    const alone = await run(['catalog', 'plan', file, '--json'], (subject: string) =>
      subject === 'billing.v1.usage.rerate' ? new ServiceError('unavailable', 'it is away') : { ...plan, prices },
    );
    await rm(folder, { recursive: true });
    const sent = { yaml: 'models: []\n', fileName: file };
    expect(applied.asked).toEqual({ subject: 'catalog.v1.catalog.apply', payload: sent });
    expect(applied.out).toBe('applied: revision 3, 1 model, 2 upstreams\n');
    expect([stale.asked?.payload, stale.err, stale.code]).toEqual([
      { ...sent, expectedRevision: 2 },
      'error: The catalog has revision 3.\n',
      1,
    ]);
    expect(planned).toMatchObject({
      asked: { subject: 'catalog.v1.catalog.plan', payload: { yaml: sent.yaml, withPrices: true } },
      ...{ out: 'line 1: bad\n', code: 1 },
    });
    expect(repriced).toMatchObject({ asked: { subject: 'billing.v1.usage.rerate', payload: { month: '2027-01', prices } }, code: 0 });
    expect(repriced.out).toMatch(/^nothing to change: revision 3 is equal\n\n.*in 2027-01:\nno usage\n$/);
    expect([JSON.parse(alone.out), alone.code]).toEqual([{ ...plan, month: expect.any(String), notRated: 'it is away' }, 0]);
  });
});

describe('rendered replies', () => {
  test('a balance, exact', async () => {
    const balance = {
      object: 'balance',
      currency: 'USD',
      balance_pico_usd: '12500000000001',
      balance_usd: '12.500000000001',
      reserved_pico_usd: '500000000000',
      available_pico_usd: '12000000000001',
      topup_balance_pico_usd: '12500000000001',
      plan_balance_pico_usd: '0',
      plan_expires_at: null,
      expiredHeld: '0',
    };
    expect((await run(['balance', '--account', ID], balance)).out).toBe(
      `balance       $12.500000000001 (12500000000001 pico)
reserved      $0.50 (500000000000 pico)
available     $12.000000000001 (12000000000001 pico)
top-up part   $12.500000000001 (12500000000001 pico)
plan part     $0.00 (0 pico)
plan expires  -
`,
    );
    const owed = { ...balance, topup_balance_pico_usd: '-3', credit_line_pico_usd: '12500000000004' };
    expect((await run(['balance', '--account', ID], owed)).out).toBe(
      `balance       $12.500000000001 (12500000000001 pico)
reserved      $0.50 (500000000000 pico)
available     $12.000000000001 (12000000000001 pico)
top-up part   -$0.000000000003 (-3 pico)
plan part     $0.00 (0 pico)
plan expires  -
credit line   $12.500000000004 (12500000000004 pico)
`,
    );
  });

  test('a new key', async () => {
    expect((await run(['key', 'create', '--project', ID], NEW_KEY)).out).toBe(
      `key      tg_live_secret
key id   ${KEY_ID}
project  ${ID}
name     -
expires  -
Save the key now: it is not shown again.
`,
    );
  });

  test('a rotated key, with the end of the old one', async () => {
    const replaced = { ...NEW_KEY, lastFour: 'olds', expiresAt: '2027-02-01T00:00:00.000Z' };
    expect((await run(['key', 'rotate', KEY_ID], { ...NEW_KEY, replaced })).out).toMatch(
      /\nSave the key now: it is not shown again\.\nThe old key …olds works until 2027-02-01T00:00:00\.000Z\.\n$/,
    );
  });

  test('keys with their names, state, end and last use, in 120 columns', async () => {
    const row = { ...NEW_KEY, name: 'ci', status: 'disabled', expiresAt: AT, lastUsedAt: AT, createdBy: 'owner@example.com' };
    const rows = [row, { ...row, keyId: KEY_ID.replace(/2$/, '3'), name: null, expiresAt: null }];
    const replies: Record<string, unknown> = {
      'billing.v1.key.list': { keys: rows, nextCursor: null },
      'billing.v1.project.list': { projects: [{ projectId: ID, name: 'web' }], nextCursor: null },
    };
    const { out } = await run(['key', 'list'], (subject: string) => replies[subject]);
    const time = '2026-11-21 00:00Z';
    expect(out.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['NAME', 'ID', 'PROJECT', 'KEY', 'STATE', 'EXPIRES', 'LAST USED', 'CREATED', 'CREATED BY'],
      ['ci', KEY_ID, 'web', '…cret', 'disabled', time, time, '2026-11-21', 'owner@example.com'],
      ['-', KEY_ID.replace(/2$/, '3'), 'web', '…cret', 'disabled', '-', time, '2026-11-21', 'owner@example.com'],
      [''],
    ]);
    const short = await run(['key', 'list'], (subject: string) =>
      subject === 'billing.v1.key.list' ? { keys: [row], nextCursor: null } : new MessagingError('timeout', 'No answer.'),
    );
    expect(short.out.split('\n')[1]).toMatch(/^ci {4}0190a6f0 {2}0190a6f0-7c1e {2}…cret /);
    expect(short.out.split('\n').every((line) => line.length <= 120)).toBe(true);
  });

  const usage = {
    requests: 12,
    estimatedRequests: 1,
    promptTokens: 1_200,
    cachedTokens: 30,
    outputTokens: 400,
    reasoningTokens: 0,
    costPicoUsd: '1500000',
    forfeitedPicoUsd: '0',
  };

  test('losses, with their sum, and how many rows are not shown', async () => {
    const sums = { usagePicoUsd: '4000000000', chargedPicoUsd: '2500000000', overPicoUsd: '1000000001', writtenOffPicoUsd: '499999999' };
    const rows = [{ day: '2027-01-31', model: 'sim-fast', upstream: null, reason: 'completed', requests: 2, ...sums }];
    const reply = { from: AT, to: AT, rows, rowCount: 7, total: { requests: 12, ...sums } };
    expect((await run(words('ledger losses --from 2027-01-01'), reply)).out).toBe(
      `DAY         MODEL     UPSTREAM  ENDING     REQUESTS  USAGE   CHARGED  BEYOND HOLD      WRITTEN OFF
2027-01-31  sim-fast  -         completed         2  $0.004  $0.0025  $0.001000000001  $0.000499999999

12 requests used $0.004 and paid $0.0025: $0.001000000001 beyond holds, $0.000499999999 written off; shown are the largest 1 of 7 rows
`,
    );
  });

  test('usage by step in the order of time, with the cursor of the next page and the total of all pages', async () => {
    const rows = ['sim-fast', 'sim-large'].map((model) => ({ start: AT, model, ...usage }));
    const asked: object[] = [];
    const args = words(`usage --account ${ID} --from 2026-11-21 --step day --by model --upstream local`);
    const { out } = await run(args, (_subject: string, payload: { step?: string }) => {
      asked.push(payload);
      return payload.step ? { from: AT, to: AT, rows, nextCursor: 'abc' } : { rows: [{ ...usage, requests: 99 }], nextCursor: null };
    });
    expect(asked.at(-1)).toEqual({ accountId: ID, from: AT, to: AT, upstream: 'local' });
    expect(out).toBe(
      `FROM                      MODEL      REQUESTS  ESTIMATED  PROMPT  CACHED  OUTPUT  REASONING  COST
2026-11-21T00:00:00.000Z  sim-fast         12          1    1200      30     400          0  $0.0000015
2026-11-21T00:00:00.000Z  sim-large        12          1    1200      30     400          0  $0.0000015
all                                        99          1    1200      30     400          0  $0.0000015
the total has all rows, also those of the next pages
more: --from ${AT} --cursor abc
`,
    );
  });

  test('usage by groups: the most expensive first, with names and the exact total', async () => {
    const of = (projectId: string, costPicoUsd: string) => ({ projectId, ...usage, cacheWriteTokens: 7, costPicoUsd });
    const rows = [of(ID, '1'), of(KEY_ID, '99999999999999999999'), of(ID.replace(/^0/, '1'), '-2')];
    const replies: Record<string, unknown> = {
      'billing.v1.usage.query': { from: AT, to: AT, rows, nextCursor: null },
      'billing.v1.project.list': {
        projects: [ID, KEY_ID].map((projectId) => ({ projectId, name: `p${projectId.at(-1)}` })),
        nextCursor: null,
      },
    };
    expect((await run(words('usage --by project'), (subject: string) => replies[subject])).out).toBe(
      `PROJECT        REQUESTS  ESTIMATED  PROMPT  CACHED  WRITTEN  OUTPUT  REASONING  COST
p2                   12          1    1200      30        7     400          0  $99999999.999999999999
p1                   12          1    1200      30        7     400          0  $0.000000000001
1190a6f0-7c1e        12          1    1200      30        7     400          0  -$0.000000000002
all                  36          3    3600      90       21    1200          0  $99999999.999999999998
`,
    );
  });

  test('usage with items of services has their units', async () => {
    const none = { ...usage, estimatedRequests: 0, promptTokens: 0, cachedTokens: 0, outputTokens: 0 };
    const rows = [
      { model: 'sim-fast', ...usage },
      { model: 'crawler/page', ...none, requests: 2, quantity: 7, costPicoUsd: '14000000000' },
      { model: 'old/page', ...none, requests: 1, quantity: 1, costPicoUsd: '0' },
    ];
    const replies: Record<string, unknown> = {
      'billing.v1.usage.query': { from: AT, to: AT, rows, nextCursor: null },
      'catalog.v1.model.list': { models: [], services: [{ id: 'crawler', items: [{ id: 'crawler/page', unit: 'page' }] }] },
    };
    const { out } = await run(words('usage --by model'), (subject: string) => replies[subject]);
    expect(out.split('\n').map((line) => line.split(/ {2,}/).toSpliced(1, 6))).toEqual([
      ['MODEL', 'UNITS', 'COST'],
      ['crawler/page', '7 × page', '$0.014'],
      ['sim-fast', '0', '$0.0000015'],
      ['old/page', '1', '$0.00'],
      ['all', '8', '$0.0140015'],
      [''],
    ]);
  });

  test('usage by agent: each below the agent that started it, with its own sums and those of its tree', async () => {
    const of = (agent: string | null, parentAgent?: string) => ({ agent, ...(parentAgent && { parentAgent }), ...usage });
    const rows = [of(null), of('helper', 'lead'), of('lead'), of('scout', 'helper')];
    expect((await run(words(`usage --account ${ID} --by agent`), { from: AT, to: AT, rows, nextCursor: null })).out).toBe(
      `AGENT      REQUESTS  ESTIMATED  PROMPT  CACHED  OUTPUT  REASONING  COST        TREE REQUESTS  TREE COST
lead             12          1    1200      30     400          0  $0.0000015             36  $0.0000045
  helper         12          1    1200      30     400          0  $0.0000015             24  $0.000003
    scout        12          1    1200      30     400          0  $0.0000015             12  $0.0000015
-                12          1    1200      30     400          0  $0.0000015             12  $0.0000015
all              48          4    4800     120    1600          0  $0.000006              48  $0.000006
`,
    );
  });

  test('usage by agent over time: a list that names who started each', async () => {
    const rows = [{ start: AT, agent: 'helper', parentAgent: 'lead', ...usage }];
    const args = words(`usage --account ${ID} --by agent --step day`);
    expect((await run(args, { from: AT, to: AT, rows, nextCursor: null })).out).toBe(
      `FROM                      AGENT   STARTED BY  REQUESTS  ESTIMATED  PROMPT  CACHED  OUTPUT  REASONING  COST
2026-11-21T00:00:00.000Z  helper  lead              12          1    1200      30     400          0  $0.0000015
all                                                 12          1    1200      30     400          0  $0.0000015
`,
    );
  });

  test('usage in all', async () => {
    const plain = words(`usage --account ${ID} --from 2026-11-21`);
    expect((await run(plain, { from: AT, to: AT, rows: [], nextCursor: null })).out).toBe('no usage\n');
    expect((await run([...plain, '--by', 'model'], { from: AT, to: AT, rows: [], nextCursor: null })).out).toBe('no usage\n');
    const forfeited = { ...usage, forfeitedPicoUsd: '500000' };
    expect((await run(plain, { from: AT, to: AT, rows: [forfeited], nextCursor: null })).out).toBe(
      `REQUESTS  ESTIMATED  PROMPT  CACHED  OUTPUT  REASONING  COST        FORFEITED
      12          1    1200      30     400          0  $0.0000015  $0.0000005
`,
    );
  });

  test('a margin asks billing with the cost prices of the catalog', async () => {
    const price = { inputUsdPerMTok: '0.1', cachedInputUsdPerMTok: '0', outputUsdPerMTok: '0.4' };
    const costs = [{ model: 'sim-fast', upstream: 'local', fromDay: '2027-01-05', price }];
    const margin = { requests: 12, chargedPicoUsd: '1500000', costPicoUsd: '500000', marginPicoUsd: '1000000' };
    const priced = { ...margin, unpricedRequests: 0, unpricedChargedPicoUsd: '0' };
    const unpriced = { ...margin, unpricedRequests: 2, unpricedChargedPicoUsd: '700000' };
    const answer = (reply: object) => (subject: string) =>
      subject === 'catalog.v1.cost.list' ? { costs } : { rowCount: 1, imagesUnknown: 0, ...reply };
    const byModel = await run(words('margin --month 2027-01'), answer({ rows: [{ model: 'sim-fast', ...priced }], total: priced }));
    expect(byModel.asked).toEqual({ subject: 'billing.v1.usage.margin', payload: { month: '2027-01', by: 'model', costs } });
    expect(byModel.out).toBe(
      `MODEL     REQUESTS  CHARGED     COST        MARGIN
sim-fast        12  $0.0000015  $0.0000005  $0.000001
all             12  $0.0000015  $0.0000005  $0.000001
`,
    );
    const byUpstream = await run(
      words('margin --month 2027-01 --by upstream'),
      answer({ rows: [{ upstream: null, ...unpriced }], total: unpriced, rowCount: 2, imagesUnknown: 3 }),
    );
    expect(byUpstream.out).toBe(
      `UPSTREAM  REQUESTS  CHARGED     COST        MARGIN     UNPRICED  CHARGED FOR THEM
-               12  $0.0000015  $0.0000005  $0.000001         2  $0.0000007
all             12  $0.0000015  $0.0000005  $0.000001         2  $0.0000007
and 1 more; the total has all
unpriced: requests whose route had no cost in the catalog on that day
3 requests are counted without images: the journal does not have their number
`,
    );
    const byAccount = await run(
      words('margin --by account'),
      answer({ rows: [{ accountId: ID, name: 'acme', ...priced }], total: priced }),
    );
    expect(
      byAccount.out
        .split('\n')
        .slice(0, 2)
        .map((line) => line.split(/ {2,}/).slice(0, 2)),
    ).toEqual([
      ['ACCOUNT', 'ID'],
      ['acme', ID],
    ]);
    expect((await run(['margin'], answer({ rows: [], rowCount: 0, total: { ...priced, requests: 0 } }))).out).toBe('no usage\n');
  });

  test('a statement of account', async () => {
    const none = { grantId: null, refundOf: null, reason: null };
    const movements = [
      { movementId: KEY_ID, kind: 'refund', amountPicoUsd: '-2500000000000', reference: 'r-1', createdAt: AT, ...none, reason: 'unhappy' },
      { movementId: ID, kind: 'topup', amountPicoUsd: '25000000000000', reference: 'inv-1', createdAt: AT, ...none },
    ];
    expect((await run(words(`movements list --account ${ID}`), { movements, nextCursor: null })).out).toBe(
      `AT                        KIND    AMOUNT  REFERENCE  REASON   MOVEMENT
${AT}  refund  -$2.50  r-1        unhappy  ${KEY_ID}
${AT}  topup   $25.00  inv-1      -        ${ID}
`,
    );
  });

  const checked = { accounts: 2, projects: 3, grants: 1, movements: 4, openHolds: 5, settlements: 6, lateSettlements: 0, auditEntries: 7 };
  const ledgerReport = (violations: number) => ({
    checkedAt: AT,
    milliseconds: 12,
    checked,
    invariants: [
      { id: 'I1', rule: 'held money is the sum of the open holds', violations },
      { id: 'I10', rule: 'and so on', violations: 0 },
    ],
    violations: Array.from({ length: violations }, () => ({ invariant: 'I1', subject: ID, accountId: ID })),
  });
  const counted = `checked 2 accounts, 3 projects, 1 grants, 4 movements, 5 open holds, 6 settlements, 0 late settlements, 7 audit entries as of ${AT} in 12 ms`;

  const SOUND = { entries: 3, digest: 'ab', faults: [] };
  /** Answers with a broken journal of one service. */
  const services =
    (violations: number, broken?: { service: string; check: unknown }) =>
    (subject: string): unknown => {
      if (subject === 'billing.v1.ledger.check') return ledgerReport(violations);
      return subject === `${broken?.service}.v1.audit.check` ? broken?.check : SOUND;
    };

  test('a consistent ledger', async () => {
    expect(await run(['ledger', 'check'], services(0))).toMatchObject({
      code: 0,
      err: '',
      out: `${counted}

ID   VIOLATIONS  RULE
I1            0  held money is the sum of the open holds
I10           0  and so on

the ledger is consistent

the audit journal of the catalog is consistent: 3 entries

the audit journal of the panel is consistent: 3 entries
`,
    });
  });

  test('violations of the ledger, with exit code 1', async () => {
    expect(await run(['ledger', 'check'], services(1))).toMatchObject({
      code: 1,
      err: '',
      out: `${counted}

ID   VIOLATIONS  RULE
I1            1  held money is the sum of the open holds
I10           0  and so on

THE LEDGER IS INCONSISTENT: 1 violation

INVARIANT  SUBJECT                               ACCOUNT
I1         ${ID}  ${ID}

the audit journal of the catalog is consistent: 3 entries

the audit journal of the panel is consistent: 3 entries
`,
    });
    const { code, out, asked } = await run(['ledger', 'check', '--full', '--json'], services(1));
    expect(asked).toEqual({ subject: 'billing.v1.ledger.check', payload: { full: true } });
    expect({ code, reply: JSON.parse(out) }).toEqual({ code: 1, reply: { ...ledgerReport(1), catalogAudit: SOUND, panelAudit: SOUND } });
  });

  test('a month that is not closed cannot be exported', async () => {
    expect(await run(words('month export 2027-01 --out exports'), { months: [] })).toMatchObject({
      code: 1,
      out: '',
      err: 'error: The month is not closed.\n',
    });
  });

  test.each<[service: string, check: unknown, line: string]>([
    ['catalog', { ...SOUND, faults: [ID, KEY_ID] }, `THE AUDIT JOURNAL OF THE CATALOG IS INCONSISTENT\n${ID}\n${KEY_ID}\n`],
    ['panel', { ...SOUND, faults: [ID] }, `THE AUDIT JOURNAL OF THE PANEL IS INCONSISTENT\n${ID}\n`],
    ['catalog', new MessagingError('unavailable', 'No service.'), 'the audit journal of the catalog was not checked: No service.\n'],
  ])('a fault in the audit journal of the %s: exit code 1 beside a consistent ledger', async (service, check, line) => {
    const { code, out } = await run(['ledger', 'check'], services(0, { service, check }));
    expect(code).toBe(1);
    expect(out).toContain('the ledger is consistent\n\n');
    expect(out).toContain(`\n\n${line}`);
  });

  test('the audit journals of all services, merged by time, with one cursor', async () => {
    const by = { actor: 'user/7', actorName: 'Ann', via: 'panel', ip: null, requestId: null };
    const entry = (number: number, rest: object) => ({
      ...by,
      id: `${ID.slice(0, -1)}${number}`,
      at: AT,
      accountId: null,
      reason: null,
      ...rest,
    });
    const frozen = { action: 'account.update', target: `account/${ID}`, accountId: ID, reason: 'disputed' };
    const billing = {
      entries: [
        entry(5, { ...frozen, before: { status: 'active' }, after: { status: 'frozen' } }),
        entry(2, { action: 'account.create', target: `account/${ID}`, accountId: ID, actorName: null, before: null, after: {} }),
      ],
      nextCursor: null,
    };
    const change = { action: 'catalog.apply', target: 'revision/2', before: { revision: 1 }, after: { revision: 2, fileName: 'c.yaml' } };
    const catalog = { entries: [entry(4, change), entry(1, change)], nextCursor: null };
    const panel = { entries: [entry(3, { action: 'session.start', target: 'user/7', before: null, after: {} })], nextCursor: null };
    const replies: Record<string, unknown> = {
      'billing.v1.audit.list': billing,
      'catalog.v1.audit.list': catalog,
      'panel.v1.audit.list': panel,
      'payments.v1.audit.list': { entries: [], nextCursor: null },
      'billing.v1.account.list': { accounts: [{ accountId: ID, name: 'acme' }], nextCursor: null },
    };
    expect((await run(['audit', '--limit', '4'], (subject: string) => replies[subject])).out).toBe(
      `AT                 WHO     CHANGE                                         REASON
2026-11-21 00:00Z  Ann     froze account acme                             disputed
2026-11-21 00:00Z  Ann     applied revision 2 of the catalog from c.yaml  -
2026-11-21 00:00Z  Ann     signed in                                      -
2026-11-21 00:00Z  user/7  opened account acme                            -
more: --cursor ${ID.slice(0, -1)}2
`,
    );
    const { asked, out } = await run(['audit', '--account', ID, '--action', 'key.create', '--target', `key/${KEY_ID}`, '--json'], () => ({
      entries: [],
      nextCursor: null,
    }));
    expect(asked).toEqual({
      subject: 'payments.v1.audit.list',
      payload: { accountId: ID, action: 'key.create', target: `key/${KEY_ID}`, limit: 50 },
    });
    expect(JSON.parse(out)).toEqual({ entries: [], nextCursor: null });
  });

  test('the audit journals name people and budgets, and find a person by e-mail', async () => {
    const limits = { before: { limitPicoUsd: '3000000000' }, after: { limitPicoUsd: '5000000000000' } };
    const by = {
      actor: `user/${ID}`,
      actorName: null,
      via: 'panel',
      ip: null,
      requestId: null,
      id: ID,
      at: AT,
      accountId: ID,
      reason: null,
    };
    const entries = [{ ...by, action: 'budget.update', target: `budget/${KEY_ID}`, ...limits }];
    const budget = { budgetId: KEY_ID, period: 'day', projectId: ID, keyId: null, dimension: null, value: null };
    const asked: [string, object][] = [];
    const replies: Record<string, unknown> = {
      'billing.v1.audit.list': { entries, nextCursor: null },
      'catalog.v1.audit.list': { entries: [], nextCursor: null },
      'panel.v1.audit.list': { entries: [], nextCursor: null },
      'payments.v1.audit.list': { entries: [], nextCursor: null },
      'billing.v1.budget.list': { budgets: [budget] },
      'billing.v1.project.list': { projects: [{ projectId: ID, name: 'web' }], nextCursor: null },
      'panel.v1.user.list': { users: [{ userId: ID, email: 'ada@example.com', name: 'Ada' }], nextCursor: null },
    };
    const answer = (subject: string, payload: object) => {
      asked.push([subject, payload]);
      return replies[subject];
    };
    expect((await run(['audit', '--actor', 'Ada@example.com'], answer)).out).toBe(
      `AT                 WHO              CHANGE                                                           REASON
2026-11-21 00:00Z  ada@example.com  set the daily budget of project web to $5.00, before $0.003  -
`.replace(/CHANGE +/, `CHANGE${' '.repeat(55)}`),
    );
    expect(asked).toContainEqual(['billing.v1.audit.list', { actor: `user/${ID}`, limit: 50 }]);
    expect(await run(['audit', '--actor', 'bob@example.com'], answer)).toMatchObject({
      ...{ code: 2, err: 'error: there is no person bob@example.com: give an e-mail, or an actor such as cli/ann@host\n' },
    });
  });

  test('the audit journals of the other services are shown when the panel is away', async () => {
    const away = new MessagingError('unavailable', 'No service.');
    const answer = (subject: string) => (subject.startsWith('panel.') ? away : { entries: [], nextCursor: null });
    expect((await run(['audit'], answer)).out).toBe('no changes\nwithout the journal of the panel: No service.\n');
    expect(JSON.parse((await run(['audit', '--json'], answer)).out)).toEqual({
      entries: [],
      nextCursor: null,
      panelNotRead: 'No service.',
    });
  });

  test('the text of the catalog as it is, or why there is none, with exit code 1', async () => {
    expect(await run(['catalog', 'show'], { revision: 3, yaml: '# mine\nmodels: []\n' })).toMatchObject({
      out: '# mine\nmodels: []\n',
      code: 0,
    });
    expect(await run(['catalog', 'show', '--revision', '2'], { revision: 2, yaml: null })).toMatchObject({
      asked: { subject: 'catalog.v1.catalog.get', payload: { revision: 2 } },
      ...{ out: 'the text of revision 2 was not stored\n', code: 1 },
    });
  });

  test('revisions of the catalog', async () => {
    const none = { added: [], changed: [], disabled: [] };
    const by = { at: AT, auditId: ID, via: 'cli', ip: null, requestId: null };
    const price = { version: 1, inputPicoUsd: '1', cachedInputPicoUsd: '1', outputPicoUsd: '1' };
    const revisions = [
      {
        ...{
          ...by,
          revision: 3,
          actor: 'service/catalog',
          actorName: null,
          fileName: null,
          scheduledPriceId: ID,
          reason: 'scheduled price',
        },
        changes: { models: none, upstreams: none, repriced: [{ model: 'a', before: price, after: price }] },
      },
      {
        ...{ ...by, revision: 2, actor: 'user/7', actorName: 'Ann', fileName: 'mine.yaml', scheduledPriceId: null, reason: null },
        changes: { models: { ...none, added: ['a', 'b'], disabled: ['c'] }, upstreams: { ...none, added: ['u'] }, repriced: [] },
      },
      {
        ...{ ...by, revision: 1, actor: 'me', actorName: null, fileName: null, scheduledPriceId: null, reason: null },
        changes: null,
      },
    ];
    expect((await run(['catalog', 'revisions'], { revisions, nextCursor: ID })).out).toBe(
      `REVISION  AT                        ACTOR            SOURCE           CHANGES
       3  ${AT}  service/catalog  scheduled price  1 model repriced
       2  ${AT}  Ann              mine.yaml        1 model disabled, 2 models added, 1 upstream added
       1  ${AT}  me               -                -
more: --cursor ${ID}
`,
    );
  });

  test('scheduled prices', async () => {
    const price = { inputPicoUsd: '150000', cachedInputPicoUsd: '0', outputPicoUsd: '600000' };
    const scheduled = { scheduledPriceId: ID, model: 'm', price, effectiveAt: AT, createdAt: AT, revision: null, cancelledAt: null };
    expect((await run(['price', 'list'], { prices: [scheduled] })).out).toBe(
      `PRICE                                 MODEL  EFFECTIVE                 IN $/M  CACHED $/M  OUT $/M
${ID}  m      ${AT}  $0.15   $0.00       $0.60
`,
    );
    expect((await run(['price', 'list'], { prices: [] })).out).toBe('no price is scheduled\n');
    const cancelled = await run(['price', 'cancel', ID.slice(0, 8)], (subject: string) =>
      subject === 'catalog.v1.price.list' ? { prices: [scheduled] } : { ...scheduled, cancelledAt: AT },
    );
    expect(cancelled.asked?.payload).toEqual({ scheduledPriceId: ID });
    expect(cancelled.out).toBe(`price         ${ID}
model         m
effective     ${AT}
input         $0.15
cached input  $0.00
output        $0.60
cancelled     ${AT}
`);
  });

  test('a list of models', async () => {
    const reply = {
      revision: 1,
      models: [
        {
          id: 'sim-fast',
          ownedBy: 'tollgate',
          displayName: 'Sim Fast',
          created: 1,
          contextTokens: 131_072,
          maxOutputTokens: 8_192,
          defaultOutputTokens: 4_096,
          input: ['text', 'image'],
          reasoning: false,
          tokensPerImageMax: 1_600,
          price: { version: 1, inputPicoUsd: '150000', cachedInputPicoUsd: '15000', outputPicoUsd: '600000' },
        },
      ],
    };
    expect((await run(['models', 'list'], reply)).out).toBe(
      `MODEL     NAME      OWNED BY  CONTEXT  MAX OUTPUT  INPUT       REASONING  IN $/M  CACHED $/M  OUT $/M  VERSION
sim-fast  Sim Fast  tollgate   131072        8192  text+image  no         $0.15   $0.015      $0.60          1
`,
    );
  });
});

describe('an error is one line and an exit code', () => {
  test.each<[line: string, err: string]>([
    [
      'price schedule --model m --input 0.1234567 --cached 0 --output 1 --at 2027-01-01',
      "error: option '--input <dollars>' argument '0.1234567' is invalid. Must be dollars per million tokens with at most six decimals, such as 0.15.\n",
    ],
    ['account create', "error: required option '--name <text>' not specified\n"],
    [
      `topup --account ${ID} --usd 1e3 --payment-id p`,
      "error: option '--usd <dollars>' argument '1e3' is invalid. Write an amount in dollars such as 25 or 2.50.\n",
    ],
    [
      `topup --account ${ID} --usd 2,50 --payment-id p`,
      "error: option '--usd <dollars>' argument '2,50' is invalid. Write cents with a point: 2.50\n",
    ],
    [
      `budget set --account ${ID} --period month --limit 0,50`,
      "error: option '--limit <dollars>' argument '0,50' is invalid. Write cents with a point: 0.50\n",
    ],
    [
      'price schedule --model m --input 0,15 --cached 0 --output 1 --at 2027-01-01',
      "error: option '--input <dollars>' argument '0,15' is invalid. Write cents with a point: 0.15\n",
    ],
    [
      `topup --account ${ID} --usd 0 --payment-id p`,
      "error: option '--usd <dollars>' argument '0' is invalid. Must be a dollar amount above zero such as 25 or 12.50.\n",
    ],
    [
      'export --account acme --account beta',
      "error: option '--account <account>' argument 'beta' is invalid. The option can be given once.\n",
    ],
    ['balance --account=', "error: option '--account <account>' argument '' is invalid. Must be a name, an id, or the start of an id.\n"],
    [
      'budget show nonsense',
      "error: command-argument value 'nonsense' is invalid for argument 'budget-id'. Must be a whole id such as 0190a6f0-7c1e-7000-8000-000000000001.\n",
    ],
    ['key revoke', "error: missing required argument 'key-id'\n"],
    [
      `key revoke-child ${KEY_ID} 1`,
      "error: command-argument value '1' is invalid for argument 'child-id'. Must be an id such as 1798761600-9f86d081884c7d65, as usage by child shows it.\n",
    ],
    [
      `project create --account ${ID} --name x --rpm 0`,
      "error: option '--rpm <n>' argument '0' is invalid. Must be a whole number from 1 to 1000000.\n",
    ],
    [
      `plan grant --account ${ID} --usd 1 --expires tomorrow`,
      "error: option '--expires <time>' argument 'tomorrow' is invalid. Must be a date such as 2027-01-31 or a time such as 2027-01-31T12:00:00Z.\n",
    ],
    [
      `plan grant --account ${ID} --usd 1 --expires 2027-02-30`,
      "error: option '--expires <time>' argument '2027-02-30' is invalid. There is no such day.\n",
    ],
    [`account update ${ID}`, 'error: nothing to change: give an option, such as --name, --frozen, --rpm, --low-balance or --credit-line\n'],
    [`account update ${ID} --frozen --active`, 'error: --frozen and --active contradict each other\n'],
    [`account update ${ID} --low-balance 5 --low-balance-off`, 'error: --low-balance and --low-balance-off contradict each other\n'],
    [
      `account update ${ID} --credit-line=-1`,
      "error: option '--credit-line <dollars>' argument '-1' is invalid. The amount must not be negative.\n",
    ],
    [`account update ${ID} --active --reason why`, 'error: --reason requires --frozen\n'],
    [`refund --account ${ID} --refund-id r`, 'error: give --payment-id, --usd, or both\n'],
    [
      `adjust --account ${ID} --adjustment-id a --usd=-0 --reason why`,
      "error: option '--usd <dollars>' argument '-0' is invalid. Must be a dollar amount other than zero such as 2.50 or -2.50.\n",
    ],
    [
      `usage --account ${ID} --from 2027-01-01 --step week`,
      "error: option '--step <step>' argument 'week' is invalid. Must be hour or day.\n",
    ],
    [
      `usage --account ${ID} --from 2027-01-01 --by model,colour`,
      "error: option '--by <what>' argument 'model,colour' is invalid. Must be account, project, key, model, upstream, ending, user, tag, client, session, agent or child.\n",
    ],
    [
      `project update ${ID}`,
      'error: nothing to change: give --name, --rpm, --concurrency, --tpm, --model-limits, --tags, --policy, --enabled or --disabled\n',
    ],
    [
      `budget set --account ${ID} --period day --limit 1 --each-user --tag a=b`,
      'error: give one of --each-user, --user, --each-session, --session, --each-client, --each-agent, --each-child, --each-tag and --tag\n',
    ],
    [`budget set --account ${ID} --period day --limit 1 --tag team`, 'error: --tag takes a name and a value, such as team=search\n'],
    [`project update ${ID} --enabled --disabled`, 'error: --enabled and --disabled contradict each other\n'],
    [`key update ${KEY_ID}`, 'error: nothing to change: give an option, such as --name, --expires, --models, --rpm or --disabled\n'],
    [
      `key update ${KEY_ID} --networks 10.0.0.0/8,here`,
      "error: option '--networks <networks>' argument '10.0.0.0/8,here' is invalid. Must be IP addresses or networks such as 10.0.0.0/8 or 2001:db8::/32.\n",
    ],
    [`key update ${KEY_ID} --enabled --disabled`, 'error: --enabled and --disabled contradict each other\n'],
    [`key rotate ${KEY_ID} --expires 2027-02-01 --expires-never`, 'error: --expires and --expires-never contradict each other\n'],
    ...['31d', '1w', '-1s', 'soon'].map((grace): [string, string] => [
      `key rotate ${KEY_ID} --grace=${grace}`,
      `error: option '--grace <time>' argument '${grace}' is invalid. Must be a time such as 90s, 30m, 24h or 7d, at most 30d.\n`,
    ]),
    [`webhook replay ${ID}`, 'error: give --from or --since\n'],
    ['catalog apply no/such.yaml', 'error: cannot read no/such.yaml: no such file\n'],
    ['estimate no/such.json', 'error: cannot read no/such.json: no such file\n'],
    ['account lsit', "error: unknown command 'lsit' (Did you mean list?)\n"],
    ['account list --jsno', "error: unknown option '--jsno' (Did you mean --json?)\n"],
    ['account list extra', "error: too many arguments for 'list'. Expected 0 arguments but got 1: extra.\n"],
  ])('a usage error calls no service: %s', async (line, err) => {
    expect(await run(words(line))).toEqual({ code: 2, out: '', err, asked: null, connections: 0, closed: 0 });
  });

  test.each<[what: string, error: Error, err: string]>([
    ['not found', new ServiceError('not_found', 'There is no such account.', 'accountId'), 'error: There is no such account.\n'],
    [
      'no service',
      new MessagingError('unavailable', 'No service listens on billing.v1.account.list.'),
      'error: No service listens on billing.v1.account.list.\n',
    ],
    [
      'no answer',
      new MessagingError('timeout', 'No answer from billing.v1.account.list in time.'),
      'error: No answer from billing.v1.account.list in time. The command may have been executed: check before you repeat it.\n',
    ],
    ['an unexpected error', new TypeError('x is not a function\n    at y'), 'error: unexpected error: x is not a function\n'],
  ])('%s', async (_, error, err) => {
    expect(await run(['account', 'list'], error)).toMatchObject({ code: 1, out: '', err, closed: 1 });
  });

  test('a refusal names options as they are typed, and with --json fields as they are sent', async () => {
    const refusal = new ServiceError('invalid_request', 'Set allowPrivateNetwork to allow it, or another webhookId.', 'url');
    const line = words('webhook add --url http://127.0.0.1/');
    expect((await run(line, refusal)).err).toBe('error: Set --allow-private-network to allow it, or another webhookId.\n');
    expect((await run([...line, '--json'], refusal)).err).toContain('Set allowPrivateNetwork to allow it');
  });

  test('a request that billing does not know is looked for in the logs, because it may have been refused', async () => {
    const unknown = new ServiceError('not_found', 'No request with this id has held money.', 'requestId');
    expect((await run(words('request show req_01'), unknown)).err).toBe(
      'error: No request with this id has held money. A refused one holds none: tollgate trace finds it in the logs, and the panel among its requests.\n',
    );
  });

  test('a refused catalog lists its faults', async () => {
    const faults = 'package.json:1: upstreams: must be a list of 0 to 200 entries\npackage.json:1: name: is not a field of the catalog';
    const result = await run(['catalog', 'apply', 'package.json'], new ServiceError('invalid_request', faults, 'yaml'));
    expect(result).toMatchObject({ code: 1, out: '', err: `error: nothing was applied\n${faults}\n` });
  });

  test.each<[line: string, reply: unknown, code: number, error: object]>([
    [
      'account list',
      new ServiceError('not_found', 'There is no such account.', 'accountId'),
      1,
      {
        ...{ code: 'not_found', message: 'There is no such account.', param: 'accountId' },
      },
    ],
    ['account list', new MessagingError('unavailable', 'No service.'), 1, { code: 'unavailable', message: 'No service.' }],
    [
      'account list',
      new TypeError('x is not a function\n    at y'),
      1,
      { code: 'unexpected', message: 'unexpected error: x is not a function' },
    ],
    ['account lsit', {}, 2, { code: 'usage', message: "unknown command 'lsit' (Did you mean list?)" }],
    [
      'key rotate ci --expires 2027-02-01 --expires-never',
      {},
      2,
      {
        ...{ code: 'usage', message: '--expires and --expires-never contradict each other' },
      },
    ],
    [
      'balance --account acne',
      { accounts: [{ accountId: ID, name: 'acme' }], nextCursor: null },
      2,
      {
        ...{ code: 'usage', message: 'there is no account acne (Did you mean acme?)' },
      },
    ],
  ])('with --json an error is a document: %s', async (line, reply, code, error) => {
    const result = await run([...words(line), '--json'], reply);
    expect({ code: result.code, out: result.out, document: JSON.parse(result.err) }).toEqual({ code, out: '', document: { error } });
  });

  test.each(['audit', 'usage', 'request list', 'ledger losses', `movements list --account ${ID}`, `webhook replay ${ID}`])(
    '%s --since 2h begins two hours ago, and takes no --from beside it',
    async (line) => {
      const before = Date.now();
      const { asked } = await run([...words(line), '--since', '2h', '--json'], { entries: [], nextCursor: null });
      const { from: start = '' } = (asked?.payload ?? {}) as { from?: string };
      const from = Date.parse(start);
      expect(asked?.payload).not.toHaveProperty('since');
      expect(from + 7_200_000).toBeGreaterThanOrEqual(before);
      expect(from + 7_200_000).toBeLessThanOrEqual(Date.now());
      expect(await run([...words(line), '--since', '2h', '--from', '2027-01-01'])).toMatchObject({
        ...{ code: 2, out: '', err: 'error: give --from or --since, not both\n', connections: 0 },
      });
    },
  );

  test('missing settings', async () => {
    const lines: string[] = [];
    const output = { writeOut: () => undefined, writeErr: (text: string) => void lines.push(text) };
    const code = await runCli(['account', 'list'], output, async () => {
      throw new ConfigError('NATS_URL not set');
    });
    expect({ code, lines }).toEqual({ code: 1, lines: ['error: NATS_URL not set\n'] });
  });
});

describe('help', () => {
  test.each([...COMMANDS])('$name has a summary, options and examples', async ({ name, summary, examples, parameters }) => {
    const { code, out, err, connections } = await run([...words(name), '--help']);
    expect({ code, err, connections }).toEqual({ code: 0, err: '', connections: 0 });
    expect(out).toContain(summary.split(' ').slice(0, 3).join(' '));
    expect(out).toContain('--json');
    for (const example of examples) {
      expect(example.startsWith(name)).toBe(true);
      expect(out).toContain(`  tollgate ${example}\n`);
    }
    for (const { description } of Object.values(parameters)) expect(out.replace(/\s+/g, ' ')).toContain(description);
  });

  test('lists all groups, and the commands of a group', async () => {
    const whole = await run(['--help']);
    expect(whole.code).toBe(0);
    for (const { name } of COMMANDS) expect(whole.out).toContain(`  ${name.split(' ')[0]} `);
    const group = await run(['project', '--help']);
    expect(group.out).toMatch(/create .*\n[\s\S]*list .*\n[\s\S]*update /);
  });

  test.each([[[]], [['project']]])('%j alone prints the help with exit code 2', async (args) => {
    const { code, out, err } = await run(args);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain('Usage: tollgate');
  });
});
