import { type Attribution, CHILD, POLICY, POLICY_VERDICT } from '#contracts/billing/attribution.js';
import { TAGS_MAX } from '#contracts/rules/bounds.js';
import { ServiceError } from '#contracts/service-error.js';
import { attributeChild } from '../clients/attribute-child.js';
import type { Caller } from '../clients/caller.js';

/** Dimensions that only the gateway knows: a service that named them could count for a child key without its limits. */
const OWN = [CHILD, POLICY, POLICY_VERDICT];

/**
 * Returns who a hold of a service is for: what the service names, and the child key that pays.
 * @throws {ServiceError} `invalid_request` for a dimension that is not the service's to name, and for too many tags.
 */
export function attributeItem(named: Attribution | undefined, { child }: Pick<Caller, 'child'>): Attribution | undefined {
  const own = OWN.find((dimension) => named?.[dimension] !== undefined);
  if (own !== undefined) throw invalid(`attribution must not have ${own}: a child key pays by its apiKey.`);
  if (!child) return named;
  const attribution = { ...named };
  if (!attributeChild(attribution, child)) throw invalid(`attribution must have at most ${TAGS_MAX} tags, with those of the child key.`);
  return attribution;
}

function invalid(message: string): ServiceError {
  return new ServiceError('invalid_request', message, 'attribution');
}
