import type { ServerResponse } from 'node:http';
import { Controller, Get, Req, Res } from '@nestjs/common';
import { GatewayError } from '#inference/errors.js';
import type { GatewayRequest } from './exchange.js';
import { Readiness } from './readiness.js';
import { ROUTES } from './routes.js';
import { writeJson } from './write-reply.js';

const OK = '{"status":"ok"}';

/** For load balancers and clients that probe the public port. What is missing is said on the ops port only. */
@Controller()
export class HealthController {
  constructor(private readonly readiness: Readiness) {}

  /** Some clients ask `HEAD /` before their first request. */
  @Get(ROUTES.root.path)
  root(@Req() { exchange }: GatewayRequest, @Res() response: ServerResponse): void {
    writeJson(exchange, response, OK);
  }

  @Get(ROUTES.livez.path)
  livez(@Req() { exchange }: GatewayRequest, @Res() response: ServerResponse): void {
    writeJson(exchange, response, OK);
  }

  @Get(ROUTES.readyz.path)
  async readyz(@Req() { exchange }: GatewayRequest, @Res() response: ServerResponse): Promise<void> {
    if (!(await this.readiness.isReady()))
      throw new GatewayError('model_unavailable', 'The gateway is not ready.', { retryAfterSeconds: 1 });
    writeJson(exchange, response, OK);
  }
}
