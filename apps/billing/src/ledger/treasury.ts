import { randomUUID } from 'node:crypto';
import type { PlanGrantReply, PlanGrantRequest, TopupCreateReply, TopupCreateRequest } from '#contracts/billing/money.js';
import { ServiceError } from '#contracts/service-error.js';
import type { PgConnection } from '#database/pg-connection.js';
import { type PicoUsd, parseUsd } from '#money/pico-usd.js';
import { grantPlan } from './grant-plan.js';
import { topUp } from './top-up.js';

/** Does something on a connection to the database, again with the same result if the connection breaks. */
export type OnConnection = <Result>(work: (connection: PgConnection) => Promise<Result>) => Promise<Result>;

/** Where money comes in. Amounts arrive as dollars and are exact. */
export class Treasury {
  constructor(private readonly onConnection: OnConnection) {}

  async topUp({ accountId, usd, paymentId }: TopupCreateRequest): Promise<TopupCreateReply> {
    const amount = positive(usd);
    const { credited, topup } = await this.onConnection((connection) => topUp(connection, { accountId, amount, paymentId }));
    return { accountId, credited, topupBalancePicoUsd: String(topup) };
  }

  async grant({ accountId, usd, expiresAt, grantKey }: PlanGrantRequest): Promise<PlanGrantReply> {
    const amount = positive(usd);
    const endsAt = new Date(expiresAt);
    if (!(endsAt.getTime() > Date.now())) throw new ServiceError('invalid_request', 'A plan must end in the future.', 'expiresAt');
    const grant = { grantId: randomUUID(), accountId, amount, endsAt, grantKey: grantKey ?? undefined };
    const granted = await this.onConnection((connection) => grantPlan(connection, grant));
    return {
      accountId,
      grantId: granted.grantId,
      granted: granted.granted,
      planBalancePicoUsd: String(granted.plan),
      expiresAt: granted.endsAt.toISOString(),
    };
  }
}

function positive(usd: string): PicoUsd {
  const amount = parseUsd(usd);
  if (amount === 0n) throw new ServiceError('invalid_request', 'The amount must be above zero.', 'usd');
  return amount;
}
