import { hostname } from 'node:os';
import { Controller } from '@nestjs/common';
import type { EmptyRequest } from '#contracts/catalog.js';
import { type RouteStatusReply, routeStatus } from '#contracts/route-status.js';
import { Serves } from '#messaging/serves.js';
import { RouteBook } from './route-book.js';

const REPLICA = `${hostname()}/${process.pid}`;

@Controller()
export class RouteStatusController {
  constructor(private readonly book: RouteBook) {}

  @Serves(routeStatus)
  async status(_request: EmptyRequest): Promise<RouteStatusReply> {
    return this.book.status(REPLICA);
  }
}
