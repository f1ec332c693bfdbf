import type { IncomingHttpHeaders } from 'node:http';
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { ApiKeys } from '../clients/api-keys.js';
import type { GatewayRequest } from './exchange.js';
import { type Route, routeAt } from './routes.js';

const BEARER = /^Bearer +(\S+) *$/i;

/** Checks the key from the headers alone, before the body is read, and puts its owner on the exchange. */
@Injectable()
export class ApiKeyGuard implements CanActivate {
  constructor(private readonly keys: ApiKeys) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<GatewayRequest>();
    const route = routeAt(request.url ?? '/');
    request.exchange.caller = await this.keys.resolve(keyOf(request.headers, route?.key ?? 'bearer'));
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
