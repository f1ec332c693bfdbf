import { type HttpExchange, requireCaller } from '../http-exchange.js';

/** A child key sees what it and those below it have used, and nothing else of its key. */
export function nameOwner(exchange: HttpExchange): { keyId: string; child?: string } {
  const { keyId, child } = requireCaller(exchange);
  return child ? { keyId, child: child.path } : { keyId };
}
