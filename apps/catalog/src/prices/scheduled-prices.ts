import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Caller } from '#contracts/audit.js';
import { findPriceFaults } from '#contracts/rules/price-rules.js';
import { type PriceScheduleRequest, SCHEDULED_PRICES_MAX, type ScheduledPrice } from '#contracts/scheduled-prices.js';
import { ServiceError } from '#contracts/service-error.js';
import { audited } from '#database/audit-journal.js';
import type { Prisma, PrismaClient } from '#database/prisma-client.js';
import { parseListPrices } from '#money/list-prices.js';
import { renderPriceText } from '#money/price-plan.js';
import type { Logger } from '#observability/logger.js';
import { lockState } from '../apply/lock-state.js';
import { toPrice, toPriceColumns, writtenColumns } from '../apply/price-columns.js';
import { WAITING } from '../apply/waiting.js';
import type { Database } from '../apply/write-changes.js';

/** The table of scheduled prices. `CatalogStore.applyDuePrice` applies them. */
export class ScheduledPrices {
  constructor(
    private readonly prisma: PrismaClient,
    private readonly logger?: Pick<Logger, 'info'>,
  ) {}

  /** @throws {ServiceError} `invalid_request`, `not_found`, `conflict`. */
  async schedule(request: PriceScheduleRequest, caller: Caller): Promise<ScheduledPrice> {
    checkRules(request.price);
    const row = toRow(request);
    return audited(this.prisma, 'catalog', { caller, logger: this.logger }, async (tx) => {
      await lockState(tx);
      const existing = await tx.scheduledPrice.findUnique({ where: { id: row.id } });
      if (existing) return { result: sameOrConflict(existing, row), change: null };
      await check(tx, row);
      const result = render(await tx.scheduledPrice.create({ data: { ...row, ...writtenColumns(row) } }));
      const { reason, ...after } = result;
      return { result, change: { ...describeChange('price.schedule', row.id), reason, before: null, after } };
    });
  }

  async list(): Promise<ScheduledPrice[]> {
    const rows = await this.prisma.scheduledPrice.findMany({ where: WAITING, orderBy: [{ effectiveAt: 'asc' }, { id: 'asc' }] });
    return rows.map(render);
  }

  /** @throws {ServiceError} `not_found`, `conflict` when it is applied. */
  cancel(id: string, caller: Caller): Promise<ScheduledPrice> {
    return audited(this.prisma, 'catalog', { caller, logger: this.logger }, async (tx) => {
      await lockState(tx);
      const row = await tx.scheduledPrice.findUnique({ where: { id } });
      if (!row) throw new ServiceError('not_found', 'There is no scheduled price with this id.', 'scheduledPriceId');
      if (row.revision !== null) {
        throw new ServiceError('conflict', `The price is applied: it made revision ${row.revision}.`, 'scheduledPriceId');
      }
      if (row.cancelledAt !== null) return { result: render(row), change: null };
      const result = render(await tx.scheduledPrice.update({ where: { id }, data: { cancelledAt: new Date() } }));
      const change = { before: { cancelledAt: null }, after: { model: result.model, cancelledAt: result.cancelledAt } };
      return { result, change: { ...describeChange('price.cancel', id), ...change } };
    });
  }

  /** Milliseconds until the next price is due, by the clock of the database. Null when none waits. */
  async msUntilNext(): Promise<number | null> {
    const rows = await this.prisma.$queryRaw<{ ms: number | null }[]>`SELECT
      (extract(epoch FROM min(effective_at) - clock_timestamp()) * 1000)::float8 AS ms
      FROM catalog.scheduled_price WHERE revision IS NULL AND cancelled_at IS NULL`;
    return rows[0]?.ms ?? null;
  }
}

type Row = Prisma.ScheduledPriceGetPayload<object>;
type NewRow = Omit<Row, 'createdAt' | 'revision' | 'cancelledAt'>;

function toRow({ scheduledPriceId, model, price, effectiveAt, reason }: PriceScheduleRequest): NewRow {
  return {
    id: scheduledPriceId ?? randomUUID(),
    modelId: model,
    ...toPriceColumns(parseListPrices(price)),
    effectiveAt: new Date(effectiveAt),
    reason: reason ?? null,
  };
}

function sameOrConflict(existing: Row, row: NewRow): ScheduledPrice {
  const { createdAt, revision, cancelledAt, ...scheduled } = existing;
  if (isDeepStrictEqual(scheduled, row)) return render(existing);
  throw new ServiceError('conflict', 'Another price was scheduled with this id.', 'scheduledPriceId');
}

function checkRules(price: PriceScheduleRequest['price']): void {
  const [fault] = findPriceFaults(price);
  if (fault) throw new ServiceError('invalid_request', `price.${fault.path.join('.')} ${fault.problem}`, 'price');
}

async function check(tx: Database, { modelId, effectiveAt }: NewRow): Promise<void> {
  const times = await tx.$queryRaw<{ now: Date }[]>`SELECT clock_timestamp() AS now`;
  if (times[0] === undefined || effectiveAt <= times[0].now) {
    throw new ServiceError('invalid_request', 'effectiveAt must be in the future', 'effectiveAt');
  }
  const model = await tx.catalogModel.findUnique({ where: { id: modelId }, select: { enabled: true } });
  if (!model?.enabled) throw new ServiceError('not_found', 'The catalog has no enabled model with this id.', 'model');
  if ((await tx.scheduledPrice.count({ where: { ...WAITING, modelId, effectiveAt } })) > 0) {
    throw new ServiceError('conflict', 'Another price of the model is scheduled for this time. Cancel that one first.', 'effectiveAt');
  }
  if ((await tx.scheduledPrice.count({ where: WAITING })) >= SCHEDULED_PRICES_MAX) {
    throw new ServiceError('conflict', `${SCHEDULED_PRICES_MAX} scheduled prices wait already. Cancel one first.`);
  }
}

function describeChange(action: string, id: string) {
  return { action, accountId: null, target: `price/${id}`, reason: null };
}

function render({ id, modelId, effectiveAt, reason, createdAt, revision, cancelledAt, ...price }: Row): ScheduledPrice {
  return {
    scheduledPriceId: id,
    model: modelId,
    price: renderPriceText(toPrice(price)),
    effectiveAt: effectiveAt.toISOString(),
    reason,
    createdAt: createdAt.toISOString(),
    revision,
    cancelledAt: cancelledAt?.toISOString() ?? null,
  };
}
