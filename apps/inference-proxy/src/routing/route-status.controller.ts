import { hostname } from 'node:os';
import { Controller } from '@nestjs/common';
import type { EmptyRequest } from '#contracts/catalog.js';
import { type RouteStatusReply, routeStatus } from '#contracts/route-status.js';
import { Serves } from '#messaging/serves.js';
import { RouteTable } from './route-table.js';

const REPLICA = `${hostname()}/${process.pid}`;

@Controller()
export class RouteStatusController {
  constructor(private readonly table: RouteTable) {}

  @Serves(routeStatus)
  async status(_request: EmptyRequest): Promise<RouteStatusReply> {
    return this.table.status(REPLICA);
  }
}
