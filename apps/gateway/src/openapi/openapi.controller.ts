import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Controller, Get, Req, Res } from '@nestjs/common';
import type { GatewayRequest } from '../http/http-exchange.js';
import { RequestRates } from '../http/limits/request-rates.js';
import { NO_SNIFF } from '../http/replies/write-reply.js';
import { ROUTES } from '../http/routes.js';
import { openApiDocument } from './document.js';

/** Serves the OpenAPI document, rendered once when the gateway starts. */
@Controller()
export class OpenApiController {
  private readonly text = Buffer.from(JSON.stringify(openApiDocument()));
  private readonly entityTag = `"${createHash('sha256').update(this.text).digest('base64url')}"`;

  constructor(private readonly rates: RequestRates) {}

  @Get(ROUTES.openapi.path)
  document(@Req() { headers, exchange }: GatewayRequest, @Res() response: ServerResponse): void {
    this.rates.countPublic(exchange);
    response.setHeaders(
      new Headers({
        etag: this.entityTag,
        // Clients revalidate each time; an unchanged document is a 304.
        'cache-control': 'no-cache',
        [NO_SNIFF[0]]: NO_SNIFF[1],
        'x-request-id': exchange.requestId,
        'request-id': exchange.requestId,
      }),
    );
    if (this.isCurrent(headers['if-none-match'])) {
      response.writeHead(304).end();
      return;
    }
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': this.text.length }).end(this.text);
  }

  /** Uses weak comparison, as RFC 9110 requires for `If-None-Match`: a compressing proxy makes the tag weak. */
  private isCurrent(tags: string | undefined): boolean {
    return tags?.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === this.entityTag) ?? false;
  }
}
