import { type ChildLevel, readEnd } from '#contracts/child-keys/child-key.js';
import { collectTags } from '#contracts/child-keys/narrow-child.js';
import { renderUsd } from '#money/pico-usd.js';

/** Renders what a child key narrows, beside what its key does. */
export function renderChild(levels: readonly ChildLevel[]) {
  const { path, limitPicoUsd } = levels.at(-1) as ChildLevel;
  return {
    id: path,
    parent_id: levels.at(-2)?.path ?? null,
    expires_at: new Date(readEnd(levels)).toISOString(),
    budget_pico_usd: limitPicoUsd,
    budget_usd: renderUsd(BigInt(limitPicoUsd)),
    models: findNarrowest(levels, 'models'),
    networks: findNarrowest(levels, 'networks'),
    tags: Object.fromEntries(collectTags(levels)),
  };
}

/** The last list of a chain is within those before it. */
function findNarrowest(levels: readonly ChildLevel[], list: 'models' | 'networks'): string[] {
  return levels.findLast((level) => level[list])?.[list] ?? [];
}

/** Renders a new child key with its secret. */
export function renderMinted(keyId: string, key: string, levels: readonly ChildLevel[]) {
  return { object: 'child_key', key, key_id: keyId, ...renderChild(levels) };
}

/** Renders the revocation of a child key. */
export function renderRevoked(id: string) {
  return { object: 'child_key.revoked', id };
}
