import { type Attribution, CHILD } from '#contracts/billing/attribution.js';
import { TAGS_MAX } from '#contracts/rules/bounds.js';
import type { ChildCaller } from './caller.js';

/** Gives a request its child key and the tags of it, whatever the request names. Returns false when there are then too many tags. */
export function attributeChild(attribution: Attribution, { path, tags }: ChildCaller): boolean {
  for (const [name, value] of tags) attribution[`tag:${name}`] = value;
  attribution[CHILD] = path;
  return Object.keys(attribution).filter((dimension) => dimension.startsWith('tag:')).length <= TAGS_MAX;
}
