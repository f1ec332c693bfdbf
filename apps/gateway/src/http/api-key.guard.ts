import type { IncomingHttpHeaders } from 'node:http';
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { GatewayError } from '#inference/errors.js';
import { ApiKeys } from '../clients/api-keys.js';
import { EmptyAccounts } from './empty-accounts.js';
import type { GatewayRequest } from './exchange.js';
import { RequestRates } from './request-rates.js';
import { type Route, routeAt } from './routes.js';

const BEARER = /^Bearer +(\S+) *$/i;

/**
 * Decides from the headers alone, before the body is read: puts the owner of the key on the exchange, holds free endpoints to their rate, and
 * refuses paid ones to an account with nothing available.
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
    const key = keyOf(headers, route?.key ?? 'bearer');
    if (key === undefined) throw keyMissing(route);
    const isSuspect = (): boolean => this.rates.isOverRate(exchange.address);
    exchange.caller = await this.keys.resolve(key, isSuspect);
    if (route?.isFree) await this.rates.countFree(exchange);
    else if (this.emptyAccounts.isSuspected(exchange)) await this.emptyAccounts.check(exchange);
    return true;
  }
}

/** The key as sent; `''`, which no key is, for a header of another form. */
function keyOf(headers: IncomingHttpHeaders, place: Route['key']): string | undefined {
  const apiKey = headers['x-api-key'];
  if (place === 'bearer-or-x-api-key' && apiKey !== undefined) return String(apiKey).trim();
  const { authorization } = headers;
  return authorization === undefined ? undefined : (BEARER.exec(authorization)?.[1] ?? '');
}

/** Names the header in which the format's own clients send the key (spec 5). */
function keyMissing(route: Route | undefined): GatewayError {
  const header = route?.format === 'messages' ? 'x-api-key: <API_KEY>' : 'Authorization: Bearer <API_KEY>';
  return new GatewayError('invalid_api_key', `No API key was sent. Send it in the header "${header}".`);
}
