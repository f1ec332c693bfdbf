import { AccountCache } from './account-cache.js';
import type { AccountState, Batch, BatchRows, BatchState, ProjectState } from './batch.js';

const NO_ROWS: BatchRows = {
  accounts: [],
  projects: [],
  budgets: [],
  values: [],
  limits: [],
  services: [],
  opened: [],
  settled: [],
  late: [],
  tombstones: [],
  forfeits: [],
  events: [],
};
const FUNDS = { topup: 1_000_000n, topupHeld: 0n, plan: 0n, planHeld: 0n, expired: 0n, grant: null, creditLine: 0n };
const PRICE = { version: 1, inputPicoUsd: '1', cachedInputPicoUsd: '0', outputPicoUsd: '2' };

/** Returns a batch with one reserve of `account`, which has `holds` open holds. */
function makeBatch(account: string, holds = 1): { batch: Batch; state: BatchState } {
  const reserves = Array.from({ length: holds }, (_, hold) => ({
    holdId: `${account}-hold-${hold}`,
    accountId: account,
    projectId: `${account}-project`,
    keyId: `${account}-key`,
    requestId: 'request',
    model: 'sim-fast',
    amountPicoUsd: '1',
    price: PRICE,
  }));
  const accountState: AccountState = { accountId: account, version: '7', active: true, openHolds: 0, funds: FUNDS };
  const projectId = `${account}-project`;
  const limits = { enabled: true, requestsPerMinuteMax: 1, concurrencyMax: 1, openHolds: 0, requestWindow: [] };
  const project: ProjectState = { projectId, accountId: account, version: '3', ...limits };
  const state: BatchState = {
    now: 0,
    accounts: new Map([[account, accountState]]),
    projects: new Map([[projectId, project]]),
    keys: new Map([[`${account}-key`, { projectId, rootKeyId: `${account}-key`, expiresAt: Number.POSITIVE_INFINITY }]]),
    budgets: new Map(),
    limits: new Map(),
    holds: new Map(),
    settlements: new Map(),
    reaped: new Map(),
    detached: new Set(),
  };
  return { batch: { settles: [], reserves }, state };
}

/** Learns a batch without changes. */
function learn(cache: AccountCache, account: string): void {
  const { batch, state } = makeBatch(account);
  cache.learn(batch, state, NO_ROWS, undefined);
}

function isKnown(cache: AccountCache, account: string): boolean {
  return cache.readState(makeBatch(account).batch, 0) !== undefined;
}

test('an account is decided from memory after its first batch', () => {
  const cache = new AccountCache();
  learn(cache, 'a');
  const { batch, state } = makeBatch('a');
  expect(cache.readState(batch, 5)).toEqual({ ...state, now: 5 });
});

test('an account that another transaction changed is decided from memory after two batches that found it unchanged', () => {
  const cache = new AccountCache();
  learn(cache, 'a');
  const { batch, state } = makeBatch('a');
  const changed = { ...(state.accounts.get('a') as AccountState), version: '8' };
  const known = [1, 2, 3].map(() => {
    cache.learn(batch, { ...state, accounts: new Map([['a', changed]]) }, NO_ROWS, undefined);
    return isKnown(cache, 'a');
  });
  expect(known).toEqual([false, false, true]);
});

test('a new version of a project drops its keys', () => {
  const cache = new AccountCache();
  learn(cache, 'a');
  const { batch, state } = makeBatch('a');
  const changed = { ...(state.projects.get('a-project') as ProjectState), version: '4' };
  cache.learn(batch, { ...state, projects: new Map([['a-project', changed]]), keys: new Map() }, NO_ROWS, undefined);
  expect(isKnown(cache, 'a')).toBe(false);
});

test('the cache keeps the 10,000 accounts used last', () => {
  const cache = new AccountCache();
  for (let account = 0; account < 10_000; account++) learn(cache, `a${account}`);
  learn(cache, 'a0');
  learn(cache, 'one more');
  expect(['a0', 'a1', 'a2', 'one more'].map((account) => isKnown(cache, account))).toEqual([true, false, true, true]);
});

test('the cache keeps 20,000 open holds and evicts the least recently used accounts', () => {
  const cache = new AccountCache();
  for (const [account, holds] of [
    ['many', 20_000],
    ['few', 1],
  ] as const) {
    learn(cache, account);
    const { batch, state } = makeBatch(account, holds);
    const opened = batch.reserves.map((reserve) => ({ reserve, planPart: 0n, grantId: null, leaseUntil: 0 }));
    cache.learn(batch, state, { ...NO_ROWS, opened }, undefined);
    const settles = [{ holdId: `${account}-hold-0`, accountId: account, reason: 'completed' as const }];
    expect(cache.readState({ settles, reserves: [] }, 0)?.holds.size).toBe(1);
  }
  expect(
    cache.readState({ settles: [{ holdId: 'many-hold-0', accountId: 'many', reason: 'completed' }], reserves: [] }, 0),
  ).toBeUndefined();
});
