import type { IncomingHttpHeaders } from 'node:http';
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { API_KEY_PREFIX } from '#contracts/api-key.js';
import { GatewayError } from '#inference/errors.js';
import { UNKNOWN_ADDRESS } from '#observability/client-address.js';
import { ApiKeys } from '../../clients/api-keys.js';
import type { ProtocolName } from '../../protocols/protocol-adapter.js';
import type { GatewayRequest } from '../http-exchange.js';
import { protocolAt, type Route, routeAt } from '../routes.js';
import { EmptyAccounts } from './empty-accounts.js';
import { RequestRates } from './request-rates.js';

const BEARER = /^Bearer +(\S+) *$/i;
const EMPTY_BEARER = /^Bearer *$/i;

/**
 * Checks the headers before the body is read: resolves the key to the caller, checks the client's address, enforces the rate of free
 * endpoints, and refuses paid requests of accounts with nothing available. A request with a valid key from a forbidden network has no
 * caller, so it is limited as one without a key.
 */
@Injectable()
export class ApiKeyGuard implements CanActivate {
  constructor(
    private readonly keys: ApiKeys,
    private readonly rates: RequestRates,
    private readonly emptyAccounts: EmptyAccounts,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<GatewayRequest>();
    const route = routeAt(request.url ?? '/');
    const { exchange, headers } = request;
    const key = readKey(headers, route?.key ?? 'bearer');
    if (key === undefined) throw missingKey(protocolAt(request.url ?? '/', headers));
    const isSuspect = (): boolean => this.rates.isOverRate(exchange.address);
    const caller = await this.keys.resolve(key, isSuspect);
    if (caller.mayCallFrom?.(exchange.address) === false) {
      exchange.refusedCaller = caller;
      throw refusedAddress(exchange.address);
    }
    exchange.caller = caller;
    if (route?.isFree) await this.rates.countFree(exchange);
    else if (this.emptyAccounts.mayBeEmpty(exchange)) await this.emptyAccounts.check(exchange);
    return true;
  }
}

/**
 * Returns the key as sent, or `''`, which no key is, for another `Authorization` scheme. SDKs send whatever the environment holds: an
 * empty header counts as absent, and of two keys the one with Tollgate's prefix is used. Throws `invalid_api_key` for two different
 * Tollgate keys.
 */
function readKey({ authorization, 'x-api-key': header }: IncomingHttpHeaders, place: Route['key']): string | undefined {
  const bearer = authorization === undefined || EMPTY_BEARER.test(authorization) ? undefined : (BEARER.exec(authorization)?.[1] ?? '');
  const apiKey = place === 'bearer-or-x-api-key' ? String(header ?? '').trim() : '';
  if (apiKey === '') return bearer;
  if (!bearer?.startsWith(API_KEY_PREFIX) || bearer === apiKey) return apiKey;
  if (!apiKey.startsWith(API_KEY_PREFIX)) return bearer;
  throw new GatewayError('invalid_api_key', 'Two different API keys were sent, in "x-api-key" and in "Authorization". Send one of them.');
}

/** Names the address, because a proxy that is not trusted shows its own instead of the client's. */
function refusedAddress(address: string): GatewayError {
  const message =
    address === UNKNOWN_ADDRESS
      ? 'The API key may be used from some networks only, and the proxy in front of the gateway did not name your address.'
      : `The API key may not be used from the address ${address}.`;
  return new GatewayError('invalid_api_key', message);
}

/** Names the header in which the format's own clients send the key. */
function missingKey(format: ProtocolName): GatewayError {
  const header = format === 'messages' ? 'x-api-key: <API_KEY>' : 'Authorization: Bearer <API_KEY>';
  return new GatewayError('invalid_api_key', `No API key was sent. Send it in the header "${header}".`);
}
