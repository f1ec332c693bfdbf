/**
 * Returns the place of an account among `shards` queues or lanes. Gateways and billing share the rule, so that a message of one queue
 * becomes few batches.
 */
export function accountShard(accountId: string, shards: number): number {
  return Number.parseInt(accountId.slice(-6), 16) % shards;
}
