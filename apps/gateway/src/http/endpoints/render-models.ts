import type { Model } from '../../clients/catalog.js';

/** A model as OpenAI's clients read it: exactly the four public fields. */
export function renderModel({ id, created, ownedBy }: Model): object {
  return { object: 'model', id, created, owned_by: ownedBy };
}

export function renderModelList(models: readonly Model[]): object {
  return { object: 'list', data: models.map(renderModel) };
}

/** The fields that Anthropic's clients need, in addition to the others. Clients that send `anthropic-version` get them. */
export function renderModelInfo(model: Model): object {
  const { id, created, displayName } = model;
  return { type: 'model', ...renderModel(model), display_name: displayName ?? id, created_at: new Date(created * 1_000).toISOString() };
}

/** The one page of all models. Clients that page on ask for what follows `last_id` while `has_more` is true. */
export function renderModelPage(models: readonly Model[]): object {
  const [first, last] = [models[0]?.id ?? null, models.at(-1)?.id ?? null];
  return { object: 'list', data: models.map(renderModelInfo), has_more: false, first_id: first, last_id: last };
}
