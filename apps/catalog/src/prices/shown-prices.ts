import type { PricePlan } from '#contracts/catalog.js';
import type { PriceShowReply, PriceShowRequest, ShownPrice } from '#contracts/scheduled-prices.js';
import { ServiceError } from '#contracts/service-error.js';
import type { PrismaClient } from '#database/prisma-client.js';
import type { Price } from '#money/price.js';
import { planPricing, renderPriceText } from '#money/price-plan.js';
import type { CatalogStore } from '../apply/catalog-store.js';
import { CatalogFileError } from '../file/catalog-file-error.js';
import { parseStoredPrices } from '../file/parse-catalog-file.js';
import { REVISION_TARGET } from '../revisions/revisions.js';

/** Enabled models with their list prices, and plans, at one moment. */
interface Prices {
  revision: number;
  models: readonly { id: string; enabled: boolean; price: Price }[];
  pricePlans: readonly (PricePlan & { enabled: boolean })[];
}

/** Prices at any moment: those of an earlier revision, the current ones, or those that are scheduled. */
export class ShownPrices {
  constructor(
    private readonly prisma: PrismaClient,
    private readonly store: Pick<CatalogStore, 'read'>,
  ) {}

  /** @throws {ServiceError} `not_found` before the first revision, and for a revision without a text. */
  async show({ pricePlan, at }: PriceShowRequest): Promise<PriceShowReply> {
    const times = await this.prisma.$queryRaw<{ now: Date }[]>`SELECT clock_timestamp() AS now`;
    const now = times[0]?.now ?? new Date();
    const moment = at === undefined ? now : new Date(at);
    const { revision, models, pricePlans } = moment < now ? await this.past(moment) : await this.ahead(moment);
    const plan = pricePlans.find(({ id, enabled }) => enabled && id === pricePlan);
    const findPrice = plan ? planPricing(plan) : (_: string, list: Price) => list;
    const prices = models
      .filter(({ enabled }) => enabled)
      .map(({ id, price }): ShownPrice => ({ model: id, price: renderPriceText(findPrice(id, price)), list: renderPriceText(price) }));
    const named = { pricePlan: pricePlan ?? null, ...(pricePlan !== undefined && !plan && { planIsMissing: true as const }) };
    return { revision, at: moment.toISOString(), ...named, prices };
  }

  private async past(moment: Date): Promise<Prices> {
    const row = await this.prisma.catalogAudit.findFirst({
      where: { target: { startsWith: REVISION_TARGET }, at: { lte: moment } },
      orderBy: { id: 'desc' },
      select: { target: true },
    });
    if (!row) throw new ServiceError('not_found', 'The catalog had no revision at that time.', 'at');
    const revision = Number(row.target.slice(REVISION_TARGET.length));
    const text = await this.prisma.revisionText.findUnique({ where: { revision } });
    if (!text) throw new ServiceError('not_found', `The text of revision ${revision} was not stored.`, 'at');
    return { revision, ...readText(revision, text.yaml) };
  }

  private async ahead(moment: Date): Promise<Prices> {
    const state = await this.store.read();
    const due = state.scheduledPrices.filter(({ effectiveAt }) => effectiveAt <= moment);
    const last = new Map(due.map(({ modelId, price }) => [modelId, price]));
    return { ...state, models: state.models.map((model) => ({ ...model, price: last.get(model.id) ?? model.price })) };
  }
}

function readText(revision: number, yaml: string): Omit<Prices, 'revision'> {
  try {
    return parseStoredPrices(yaml, 'catalog.yaml');
  } catch (error) {
    if (!(error instanceof CatalogFileError)) throw error;
    throw new ServiceError('not_found', `The text of revision ${revision} does not fit this version.`, 'at', { cause: error });
  }
}
