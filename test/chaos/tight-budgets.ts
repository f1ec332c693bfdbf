import { budgetSet } from '#contracts/billing/budgets.js';
import type { Tenant } from '#testing/tenant.js';
import type { Ask } from './bookkeeper.js';
import type { Bill } from './check-bill.js';

/** Amounts that the requests of the next round may use beyond those before: less than some of them need. */
const ALL_PICO_USD = 8_000_000_000n;
const USER_PICO_USD = 1_200_000_000n;
const SESSION_PICO_USD = 1_500_000_000n;
const TEAM_TOKENS = 3_000n;

/** Budgets of an account, its users, its sessions and its teams, whose limits rise in every round. */
export class TightBudgets {
  private limits = { all: 0n, user: 0n, session: 0n, team: 0n };

  constructor(
    private readonly tenant: Tenant,
    private readonly ask: Ask,
  ) {}

  async raise(bills: readonly Bill[]): Promise<void> {
    const { tenant, ask } = this;
    const { all, users, sessions, teams } = sumRows(bills);
    const ofMoney = { all: all + ALL_PICO_USD, user: greatest(users) + USER_PICO_USD, session: greatest(sessions) + SESSION_PICO_USD };
    const limits = { ...ofMoney, team: greatest(teams) + TEAM_TOKENS };
    this.limits = limits;
    const total = { accountId: tenant.accountId, period: 'total' as const };
    await ask(budgetSet, { ...total, limitPicoUsd: `${limits.all}` });
    await ask(budgetSet, { ...total, projectId: tenant.projectId, dimension: 'user', limitPicoUsd: `${limits.user}` });
    await ask(budgetSet, { ...total, dimension: 'session', limitPicoUsd: `${limits.session}` });
    await ask(budgetSet, { ...total, dimension: 'tag:team', limitTokens: Number(limits.team) });
  }

  /** Returns the budgets that the bills exceed. */
  exceeded(bills: readonly Bill[]): string[] {
    const { all, users, sessions, teams } = sumRows(bills);
    const above = (sums: Map<string, bigint>, limit: bigint) => [...sums].filter(([, sum]) => sum > limit);
    return [
      ...(all > this.limits.all ? [`all requests cost ${all}`] : []),
      ...above(users, this.limits.user).map(([user, cost]) => `the requests of ${user} cost ${cost}`),
      ...above(sessions, this.limits.session).map(([session, cost]) => `the requests of ${session} cost ${cost}`),
      ...above(teams, this.limits.team).map(([team, tokens]) => `the requests of ${team} used ${tokens} tokens`),
    ];
  }
}

interface Sums {
  all: bigint;
  users: Map<string, bigint>;
  sessions: Map<string, bigint>;
  /** Tokens, without those of late settlements, which may exceed a limit. */
  teams: Map<string, bigint>;
}

function sumRows(bills: readonly Bill[]): Sums {
  const sums: Sums = { all: 0n, users: new Map(), sessions: new Map(), teams: new Map() };
  const add = (to: Map<string, bigint>, name: string | null, amount: bigint): void => {
    if (name !== null) to.set(name, (to.get(name) ?? 0n) + amount);
  };
  for (const { paid, user, session, team, promptTokens, outputTokens, reading } of bills) {
    sums.all += paid;
    add(sums.users, user, paid);
    add(sums.sessions, session, paid);
    if (reading === undefined) add(sums.teams, team, BigInt(promptTokens + outputTokens));
  }
  return sums;
}

function greatest(sums: Map<string, bigint>): bigint {
  return [...sums.values()].reduce((most, sum) => (sum > most ? sum : most), 0n);
}
