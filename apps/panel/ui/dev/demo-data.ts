import type { AccountRow, Balance } from '../../src/shapes/accounts.js';
import type { KeyRow } from '../../src/shapes/keys.js';
import type { Project } from '../../src/shapes/projects.js';
import type { BilledRequest, RequestRow, SettleReason } from '../../src/shapes/requests.js';

/** Invented accounts and traffic of 30 days, most of it in the last hours. The same at every start, but for the time. */
export const NOW = Date.now();
const HOUR_MS = 3_600_000;
const PICO = 1_000_000_000_000n;

/** Numbers from 0 to 1, the same sequence at every start. */
function sequence(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const random = sequence(20_261_123);
const id = (kind: string, at: number) => `0195a${kind}00-0000-7000-8000-${at.toString(16).padStart(12, '0')}`;
const iso = (ms: number) => new Date(ms).toISOString();
const pick = <T>(choices: readonly T[]): T => choices[Math.floor(random() * choices.length)] as T;

export const MODELS = [
  {
    id: 'gpt-oss-120b',
    ownedBy: 'openai',
    contextTokens: 131_072,
    maxOutputTokens: 32_768,
    input: 150_000,
    cached: 15_000,
    output: 600_000,
    upstream: 'gpu-cluster-a',
  },
  {
    id: 'qwen3-32b',
    ownedBy: 'qwen',
    contextTokens: 32_768,
    maxOutputTokens: 8_192,
    input: 100_000,
    cached: 10_000,
    output: 400_000,
    upstream: 'gpu-cluster-a',
  },
  {
    id: 'llama-3.3-70b',
    ownedBy: 'meta',
    contextTokens: 131_072,
    maxOutputTokens: 8_192,
    input: 230_000,
    cached: 57_500,
    output: 400_000,
    upstream: 'hosted-eu',
  },
  {
    id: 'deepseek-r1',
    ownedBy: 'deepseek',
    contextTokens: 65_536,
    maxOutputTokens: 16_384,
    input: 550_000,
    cached: 140_000,
    output: 2_190_000,
    upstream: 'hosted-eu',
  },
] as const;

type DemoAccount = AccountRow & { balance: Balance & { expiredHeld: string } };

const account = (at: number, name: string, topup: bigint, plan: bigint, held: bigint): DemoAccount => {
  const usd = (pico: bigint) => `${pico / PICO}.${(pico % PICO).toString().padStart(12, '0')}`;
  const balance: DemoAccount['balance'] = {
    expiredHeld: '0',
    object: 'balance',
    currency: 'USD',
    balance_pico_usd: `${topup + plan}`,
    balance_usd: usd(topup + plan),
    reserved_pico_usd: `${held}`,
    available_pico_usd: `${topup + plan - held}`,
    topup_balance_pico_usd: `${topup}`,
    plan_balance_pico_usd: `${plan}`,
    plan_expires_at: plan > 0n ? iso(NOW + 5 * 24 * HOUR_MS) : null,
  };
  return {
    accountId: id('a', at),
    name,
    status: 'active',
    statusReason: null,
    lowBalancePicoUsd: `${20n * PICO}`,
    creditLinePicoUsd: null,
    pricePlan: null,
    nextPricePlan: null,
    requestsPerMinuteMax: 1_200,
    concurrencyMax: 200,
    tokensPerMinuteMax: null,
    projectsMax: 100,
    activeKeysMax: 1_000,
    createdAt: iso(NOW - 90 * 24 * HOUR_MS),
    balance,
  };
};

export const ACCOUNTS: DemoAccount[] = [
  account(1, 'Northwind Robotics', 412_806_441_317_250n, 38_114_902_100_000n, 1_204_880_000_000n),
  account(2, 'Acme Labs', 18_440_120_000_333n, 0n, 402_100_000_000n),
  { ...account(3, 'Harbour & Co', 250n * PICO, 0n, 0n), status: 'frozen', statusReason: 'frozen by ledger check: I2' },
];

const [NORTHWIND, ACME] = ACCOUNTS as [DemoAccount, DemoAccount];

const project = (at: number, owner: AccountRow, name: string, requestsPerMinuteMax: number, concurrencyMax: number): Project => ({
  projectId: id('b', at),
  accountId: owner.accountId,
  name,
  enabled: at !== 3,
  requestsPerMinuteMax,
  concurrencyMax,
  tokensPerMinuteMax: null,
  tags: [],
  createdAt: iso(NOW - 80 * 24 * HOUR_MS),
});

export const PROJECTS: Project[] = [
  project(1, NORTHWIND, 'support-assistant', 600, 50),
  project(2, NORTHWIND, 'code-review', 120, 12),
  project(3, NORTHWIND, 'warehouse-pilot', 60, 4),
  project(4, ACME, 'research', 300, 20),
];

const key = (at: number, of: number, name: string | null, lastFour: string, fields: Partial<KeyRow> = {}): KeyRow => ({
  keyId: id('c', at),
  rootKeyId: id('c', at),
  projectId: PROJECTS[of]?.projectId ?? '',
  name,
  note: null,
  lastFour,
  createdAt: iso(NOW - (70 - at * 7) * 24 * HOUR_MS),
  createdBy: 'Ines Martins',
  expiresAt: null,
  disabled: false,
  models: [],
  networks: [],
  requestsPerMinuteMax: null,
  concurrencyMax: null,
  tokensPerMinuteMax: null,
  replacedBy: null,
  revokedAt: null,
  status: 'active',
  lastUsedAt: iso(NOW - at * HOUR_MS),
  ...fields,
});

const inDays = (days: number): string => iso(NOW + days * 24 * HOUR_MS);

export const KEYS: KeyRow[] = [
  key(1, 0, 'production', 'x7Qd', { note: 'the assistant on the web site', expiresAt: inDays(120) }),
  key(2, 0, 'staging', 'mB2k', { expiresAt: inDays(3) }),
  key(3, 1, 'ci', 'p0Za'),
  key(4, 1, 'laptop of Ines', '9fLr', { status: 'revoked', revokedAt: inDays(-9) }),
  key(5, 2, null, 'Wc4e', { status: 'disabled', disabled: true }),
  key(6, 3, 'notebooks', 'tT8u', { expiresAt: inDays(0.5), replacedBy: id('c', 7) }),
  key(7, 3, 'notebooks', 'pP3x', { rootKeyId: id('c', 6), lastUsedAt: null }),
];

/** A key that a dialog makes. It joins the list. */
export function makeKey(fields: Partial<KeyRow>): KeyRow {
  const keyId = crypto.randomUUID();
  const times = { createdAt: new Date().toISOString(), lastUsedAt: null };
  const made = { ...key(8, 0, null, 'Demo'), keyId, rootKeyId: keyId, ...times, ...fields };
  KEYS.push(made);
  return made;
}

const ENDINGS: SettleReason[] = [
  ...Array<SettleReason>(34).fill('completed'),
  'failed',
  'failed',
  'client-disconnected',
  'client-disconnected',
  'released',
  'lease-expired',
];

/** One request, with a cost that follows from its tokens and prices. */
function request(at: number): BilledRequest {
  const keyAt = pick([0, 0, 0, 0, 1, 2, 2, 5]);
  const apiKey = KEYS[keyAt] as KeyRow;
  const model = keyAt === 2 ? pick([MODELS[0], MODELS[3]]) : pick([MODELS[0], MODELS[0], MODELS[1], MODELS[2]]);
  const reason = pick(ENDINGS);
  const isFree = reason === 'failed' || reason === 'released';
  const promptTokens = Math.floor(200 + random() ** 3 * 18_000);
  const cachedTokens = random() < 0.4 ? Math.floor(promptTokens * random() * 0.9) : 0;
  const outputTokens = Math.floor(20 + random() ** 2 * 2_400);
  const reasoningTokens = model.id === 'deepseek-r1' ? Math.floor(outputTokens * 0.6) : 0;
  const isEstimated = reason === 'client-disconnected' || reason === 'lease-expired';
  const cost =
    BigInt(promptTokens - cachedTokens) * BigInt(model.input) +
    BigInt(cachedTokens) * BigInt(model.cached) +
    BigInt(outputTokens) * BigInt(model.output);
  const durationMs = 400 + random() * 9_000;
  const usage = {
    promptTokens: isFree ? 0 : promptTokens,
    cachedTokens: isFree ? 0 : cachedTokens,
    outputTokens: isFree ? 0 : outputTokens,
    reasoningTokens: isFree ? 0 : reasoningTokens,
    promptSource: isEstimated ? ('estimated' as const) : ('reported' as const),
    outputSource: isEstimated ? ('counted' as const) : ('reported' as const),
  };
  const held = BigInt(promptTokens * 4) * BigInt(model.input) + 4_096n * BigInt(model.output);
  const requestId = `${Math.floor(at)
    .toString(16)
    .padStart(12, '0')
    .replace(/^(.{8})/, '$1-')}-7${Math.floor(random() * 4_095)
    .toString(16)
    .padStart(3, '0')}-9c1e-${Math.floor(random() * 2 ** 47)
    .toString(16)
    .padStart(12, '0')}`;
  return {
    requestId,
    traceId: null,
    holdId: requestId.replace('9c1e', '9c1f'),
    accountId: PROJECTS.find(({ projectId }) => projectId === apiKey.projectId)?.accountId ?? '',
    projectId: apiKey.projectId,
    keyId: apiKey.keyId,
    model: model.id,
    attribution: {},
    upstream: reason === 'released' ? null : model.upstream,
    heldPicoUsd: `${held}`,
    price: { version: 3, inputPicoUsd: `${model.input}`, cachedInputPicoUsd: `${model.cached}`, outputPicoUsd: `${model.output}` },
    reservedAt: iso(at),
    settlement: {
      usage,
      costPicoUsd: isFree ? '0' : `${cost}`,
      paid: { planPicoUsd: '0', topupPicoUsd: isFree ? '0' : `${cost}`, endedPlanPicoUsd: '0' },
      settledAt: iso(at + durationMs),
      reason,
      settledBy: reason === 'lease-expired' ? 'reaper' : reason === 'client-disconnected' ? 'inference-proxy' : 'gateway',
      overPicoUsd: '0',
      writtenOffPicoUsd: '0',
      reaped: null,
    },
    creditNotes: [],
  };
}

/** Moments of requests: by day more than by night, on weekdays more than on weekends. */
function* moments(): Generator<number> {
  for (let hour = 30 * 24; hour >= 0; hour--) {
    const start = Math.floor((NOW - hour * HOUR_MS) / HOUR_MS) * HOUR_MS;
    const moment = new Date(start);
    const byDay = 0.25 + Math.max(0, Math.sin(((moment.getUTCHours() - 5) / 24) * 2 * Math.PI));
    const byWeek = moment.getUTCDay() % 6 === 0 ? 0.35 : 1;
    const requests = Math.round(byDay * byWeek * (30 + random() * 40));
    for (let at = 0; at < requests; at++) {
      const ms = start + random() * HOUR_MS;
      if (ms < NOW - 12_000) yield ms;
    }
  }
}

export const REQUESTS: BilledRequest[] = [...moments()].sort((a, b) => b - a).map(request);

// Special ones for the page of one request: a late settlement after the reaper, and a run-away output.
const late = REQUESTS.find(({ settlement }) => settlement?.reason === 'lease-expired');
if (late?.settlement) {
  const { settlement } = late;
  late.settlement = {
    ...settlement,
    reason: 'completed',
    settledBy: 'inference-proxy',
    overPicoUsd: '0',
    reaped: {
      usage: { ...settlement.usage, outputTokens: 12, promptSource: 'estimated', outputSource: 'counted' },
      costPicoUsd: '96000000',
      paid: { planPicoUsd: '0', topupPicoUsd: '96000000', endedPlanPicoUsd: '0' },
      settledAt: iso(Date.parse(settlement.settledAt) - 300),
    },
  };
}

const running: BilledRequest[] = [1, 2].map((at) => ({ ...request(NOW - at * 2_300), settlement: null }));
export const EVERY_REQUEST: BilledRequest[] = [...running, ...REQUESTS];

export function rowOf({ settlement, price: _, ...request }: BilledRequest): RequestRow {
  return {
    ...request,
    settledAt: settlement?.settledAt ?? null,
    ending: settlement?.reason ?? null,
    usage: settlement?.usage ?? null,
    costPicoUsd: settlement?.costPicoUsd ?? null,
  };
}
