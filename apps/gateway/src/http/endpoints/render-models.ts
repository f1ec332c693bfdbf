import type { AnnouncedPrice, Model } from '../../clients/catalog.js';
import { renderModelPrice } from './render-price.js';

/** Where facts of models are shown. The contract gives those of the list four fields. */
export const MODEL_FACTS = ['none', 'model', 'all'] as const;

/** A model as OpenAI's clients read it: exactly the four public fields. */
export function renderModel({ id, created, ownedBy }: Model) {
  return { object: 'model', id, created, owned_by: ownedBy };
}

/** The fields that Anthropic's clients need, in addition to the others. Clients that send `anthropic-version` get them. */
export function renderModelInfo(model: Model) {
  const { id, created, displayName } = model;
  return { type: 'model', ...renderModel(model), display_name: displayName ?? id, created_at: new Date(created * 1_000).toISOString() };
}

/** Facts by which a client chooses a model and its limits. Prices are those of the caller, in force and announced. */
export function renderModelFacts(model: Model, announced: readonly AnnouncedPrice[]) {
  return {
    context_length: model.contextTokens,
    max_output_tokens: model.maxOutputTokens,
    default_output_tokens: model.defaultOutputTokens,
    input_types: model.input,
    reasoning: model.reasoning,
    embedding_dimensions: model.embeddingDimensions ?? null,
    price: renderModelPrice(model.pinnedPrice),
    announced_prices: announced.map(({ effectiveAt, price }) => ({ effective_at: effectiveAt, ...renderModelPrice(price) })),
  };
}

/** The one page of all models. Anthropic's clients page on while `has_more` is true. */
export function renderModelList(models: readonly { id: string }[], isAnthropic: boolean): object {
  const list = { object: 'list', data: models };
  return isAnthropic ? { ...list, has_more: false, first_id: models[0]?.id ?? null, last_id: models.at(-1)?.id ?? null } : list;
}
