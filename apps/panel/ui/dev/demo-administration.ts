import type { MeReply } from '../../src/shapes/identity.js';
import type { LedgerCheckReply } from '../../src/shapes/ledger.js';
import type { UpstreamRoute } from '../../src/shapes/upstreams.js';
import { ACCOUNTS, MODELS, NOW, PROJECTS } from './demo-data.js';
import { type Endpoint, ok } from './demo-endpoint.js';

const DAY_MS = 86_400_000;
const iso = (ms: number) => new Date(ms).toISOString();

const PROBED = [
  ['reachable', 'yes', 'gpu-cluster-a:8000 answers, 210 ms for a reply'],
  ['key', 'yes', 'UPSTREAM_KEY_HOSTED is taken'],
  ['model', 'yes', 'on its list'],
  ['plain reply', 'yes', '42 bytes of text in 210 ms, finish stop'],
  ['streams', 'yes', '32 tokens, finish stop'],
  ['accepts seed', 'no', '400: seed is not supported'],
  ['accepts images', 'skipped', 'the model takes no images'],
];

const ADMIN: MeReply = {
  userId: '0195ad00-0000-7000-8000-000000000001',
  email: 'mara@example.com',
  name: 'Mara Lindqvist',
  createdAt: iso(NOW - 60 * DAY_MS),
  gatewayUrl: 'https://ai.example.com',
  traceUrl: 'https://traces.example.com/trace/{traceId}',
  hasPassword: true,
  grants: [
    {
      accountId: null,
      role: 'admin',
      permissions: [
        ...([
          'usage.read',
          'requests.read',
          'models.read',
          'playground',
          'projects',
          'keys',
          'budgets',
          'money.read',
          'money.write',
          'accounts',
        ] as const),
        ...([
          'upstreams',
          'upstreams.read',
          'catalog',
          'catalog.read',
          'ledger',
          'ledger.read',
          'audit.read',
          'members',
          'members.read',
          'tokens',
        ] as const),
      ],
    },
  ],
};

const OWNER = { userId: '0195ad00-0000-7000-8000-000000000002', email: 'ines@northwind.example', name: 'Ines Ferreira' };

const RULES: [id: string, rule: string][] = [
  ['I1', 'held money is the sum of the open holds'],
  ['I2', 'top-up money is top-ups less refunds and charges'],
  ['I3', 'a grant is the sum of its charges, its forfeits and what is left'],
  ['I4', 'no hold is both open and settled'],
  ['I5', "a project's counter is the number of its open holds"],
  ['I6', 'no money appears or vanishes'],
  ['I7', 'no hold is open long after its lease'],
  ['I8', 'a request window has positive counts in ascending time'],
  ['I9', 'cost plus excess is usage times the price of the hold'],
  ['I10', 'only a reaped hold is settled late, and it gives back no more than it took'],
  ['I11', 'refunds of a top-up do not exceed it'],
];

const check = (at: number): LedgerCheckReply => ({
  checkedAt: iso(NOW - at * 3_600_000 - 340_000),
  milliseconds: 640 + at * 7,
  full: false,
  auditDigest: '5f2c9a0e',
  monthDigest: '',
  checked: {
    accounts: 3,
    projects: 4,
    grants: 1,
    movements: 7,
    openHolds: 2,
    settlements: 8_214 - at * 60,
    lateSettlements: 1,
    auditEntries: 46,
  },
  invariants: RULES.map(([id, rule]) => ({ id, rule, violations: id === 'I2' && at === 3 ? 1 : 0 })),
  violations: at === 3 ? [{ invariant: 'I2', subject: ACCOUNTS[2]?.accountId ?? '', accountId: ACCOUNTS[2]?.accountId ?? null }] : [],
});

const route = (at: number, replica: number): UpstreamRoute => {
  const model = MODELS[at] ?? MODELS[0];
  const isOpen = at === 2 && replica === 1;
  return {
    model: model.id,
    upstream: model.upstream,
    upstreamModel: `${model.ownedBy}/${model.id}`,
    priority: 0,
    weight: 1,
    circuit: isOpen ? 'open' : 'closed',
    state: isOpen ? 'down' : 'up',
    advice: isOpen ? 'The upstream exceeds its timeouts: it is overloaded or hangs, or they are too short for its prompts.' : null,
    cooldownMs: isOpen ? 12_400 : 0,
    isHealthy: true,
    inFlight: isOpen ? 0 : 3 - at + replica,
    concurrencyMax: at === 3 ? 8 : null,
    upstreamInFlight: 5,
    upstreamConnectionsMax: 256,
    calls: 4_120 - at * 911 + replica * 57,
    errors: isOpen ? { timeout: 14, refused: 3 } : at === 0 ? { timeout: 1 } : {},
    durationMs: 2_840 + at * 610,
    firstContentMs: 310 + at * 140,
    tokensPerSecond: 94 - at * 17,
    lastFailure: isOpen
      ? { kind: 'timeout', code: 'upstream_timeout', detail: 'no first byte within 120000 ms', isOperatorsFault: false, agoMs: 17_000 }
      : null,
  };
};

const AUDIT = [
  {
    action: 'key.create',
    service: 'billing',
    target: 'key/0195ac00',
    after: { name: 'staging', lastFour: 'mB2k', projectId: PROJECTS[0]?.projectId },
    before: null,
  },
  {
    action: 'project.update',
    service: 'billing',
    target: 'project/0195ab00',
    before: { requestsPerMinuteMax: 300 },
    after: { requestsPerMinuteMax: 600 },
  },
  {
    action: 'topup.create',
    service: 'billing',
    target: 'payment/inv-2026-1187',
    before: null,
    after: { amountPicoUsd: '200000000000000' },
  },
  {
    action: 'catalog.apply',
    service: 'catalog',
    target: 'revision/12',
    before: { revision: 11 },
    after: { revision: 12, repriced: ['qwen3-32b'] },
  },
  { action: 'session.start', service: 'panel', target: 'user/0195ad00', before: null, after: null },
  {
    action: 'account.update',
    service: 'billing',
    target: 'account/0195aa00',
    before: { status: 'active' },
    after: { status: 'frozen', statusReason: 'frozen by ledger check: I2' },
  },
].map((entry, at) => ({
  id: `0195ae00-0000-7000-8000-00000000000${at}`,
  at: iso(NOW - at * 2_700_000 - 90_000),
  actor: at === 3 ? 'cli/root@ops-1' : `user/${ADMIN.userId}`,
  actorName: at === 3 ? null : ADMIN.name,
  via: at === 3 ? 'cli' : 'panel',
  ip: at === 3 ? null : '10.4.1.17',
  requestId: at === 3 ? null : 'req_01j9demo7q4w',
  accountId: at === 3 || at === 4 ? null : (ACCOUNTS[0]?.accountId ?? null),
  reason: null,
  ...entry,
}));

const SESSIONS = [true, false].map((isCurrent, at) => ({
  sessionId: `0195a100-0000-7000-8000-00000000000${at}`,
  createdAt: iso(NOW - (at * 30 + 1) * 3_600_000),
  confirmedAt: iso(NOW - 3_600_000),
  seenAt: iso(NOW - at * 25 * 60_000),
  expiresAt: iso(NOW + 11 * 3_600_000),
  address: isCurrent ? '10.4.1.17' : '10.4.2.80',
  userAgent: isCurrent ? 'Mozilla/5.0 (X11; Linux x86_64) Firefox/151.0' : 'Mozilla/5.0 (iPhone) Safari/605.1',
  isCurrent,
}));

export const ADMINISTRATION: Endpoint[] = [
  ['GET', /^\/me$/, () => ok(ADMIN)],
  ['GET', /^\/sso$/, () => ok({ passwords: true, providers: [{ name: 'keycloak', label: 'Keycloak' }] })],
  ['POST', /^\/session$/, () => ({ status: 201, body: ADMIN })],
  ['DELETE', /^\/session$/, () => ({ status: 204 })],
  ['POST', /^\/session\/confirm$/, () => ok(SESSIONS[0])],
  ['GET', /^\/sessions$/, () => ok({ sessions: SESSIONS })],
  ['POST', /^\/invites\/show$/, () => ok({ email: null, accountId: null, role: 'admin', expiresAt: iso(NOW + DAY_MS), password: 'new' })],
  ['POST', /^\/invites\/accept$/, () => ok(ADMIN)],
  [
    'POST',
    /^\/upstreams\/[^/]+\/test$/,
    () => {
      const event = (type: string, data: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}`;
      const checks = PROBED.map(([title, verdict, evidence]) => event('check-end', { check: { id: title, title, verdict, evidence } }));
      const speed = { firstContentMs: 182, tokensPerSecond: 74, requests: 29, promptTokens: 4_512, outputTokens: 618 };
      const changes = [{ name: 'seed', catalog: true, found: false }];
      return { status: 200, events: { texts: [...checks, event('test-end', { servesText: true, ...speed, changes })] } };
    },
  ],
  [
    'GET',
    /^\/upstreams$/,
    () =>
      ok({
        replicas: [0, 1].map((replica) => ({
          replica: `proxy-${replica}`,
          catalogRevision: 12,
          routes: [0, 1, 2, 3].map((at) => route(at, replica)),
          waiting: [],
        })),
      }),
  ],
  [
    'GET',
    /^\/ledger\/checks$/,
    () => ok({ checks: [0, 1, 2, 3, 4, 5].map(check), frozen: ACCOUNTS.filter(({ status }) => status === 'frozen') }),
  ],
  ['POST', /^\/ledger\/checks$/, () => ok(check(0))],
  [
    'GET',
    /^\/ledger\/journals$/,
    () =>
      ok({
        journals: (['catalog', 'panel'] as const).map((service, at) => ({
          service,
          entries: 12 + at * 61,
          digest: '9c1185a5',
          faults: [],
        })),
      }),
  ],
  ['GET', /^\/audit$/, () => ok({ entries: AUDIT, nextCursor: null })],
  [
    'GET',
    /^\/members$/,
    () =>
      ok({
        members: [
          { ...ADMIN, disabledAt: null },
          {
            ...OWNER,
            createdAt: iso(NOW - 40 * DAY_MS),
            disabledAt: null,
            grants: [{ accountId: ACCOUNTS[0]?.accountId, role: 'owner', permissions: [] }],
          },
        ],
        nextCursor: null,
      }),
  ],
  [
    'GET',
    /^\/invites$/,
    () =>
      ok({
        invites: [
          {
            inviteId: '0195a200-0000-7000-8000-000000000001',
            email: 'jun@northwind.example',
            accountId: ACCOUNTS[0]?.accountId,
            role: 'developer',
            invitedBy: `user/${ADMIN.userId}`,
            createdAt: iso(NOW - 7_200_000),
            expiresAt: iso(NOW + DAY_MS - 7_200_000),
          },
        ],
        nextCursor: null,
      }),
  ],
  [
    'GET',
    /^\/tokens$/,
    () =>
      ok({
        tokens: [
          {
            tokenId: '0195a300-0000-7000-8000-000000000001',
            name: 'nightly export',
            lastFour: 'Qm3x',
            accountId: ACCOUNTS[0]?.accountId,
            permissions: ['usage.read', 'money.read'],
            createdBy: ADMIN.userId,
            createdAt: iso(NOW - 20 * DAY_MS),
            expiresAt: iso(NOW + 70 * DAY_MS),
            revokedAt: null,
            usedAt: iso(NOW - 3 * 3_600_000),
          },
        ],
        nextCursor: null,
      }),
  ],
];
