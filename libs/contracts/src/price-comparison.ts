import { Matches } from 'class-validator';
import { Nested, NestedList, PRICE_PLAN_LENGTH_MAX, Text } from './billing/fields.js';
import { ListPrices } from './scheduled-prices.js';

const MODELS_MAX = 1_000;
const PLANS_MAX = 100;

export class PlanModelPrice {
  @Text(256) id!: string;
  @Nested(() => ListPrices) price!: ListPrices;
}

/** A price plan: as in the catalog file. */
export class ComparedPlan {
  @Text(PRICE_PLAN_LENGTH_MAX) id!: string;
  @Matches(/^\d{1,3}(\.\d{1,2})?$/) discountPercent!: string;
  @NestedList(() => PlanModelPrice, MODELS_MAX) models!: PlanModelPrice[];
}

export class ComparedModel {
  @Text(256) id!: string;
  @Nested(() => ListPrices) before!: ListPrices;
  @Nested(() => ListPrices) after!: ListPrices;
}

/** Prices of models in two catalogs. */
export class PriceComparison {
  /** Models that both catalogs offer, and that may have another price for some account. */
  @NestedList(() => ComparedModel, MODELS_MAX) models!: ComparedModel[];
  @NestedList(() => ComparedPlan, PLANS_MAX) plansBefore!: ComparedPlan[];
  @NestedList(() => ComparedPlan, PLANS_MAX) plansAfter!: ComparedPlan[];
}
