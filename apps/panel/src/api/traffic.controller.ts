import { Controller, Req } from '@nestjs/common';
import { Activity, TrafficQuery } from '../activity/activity.js';
import { Handles, Input } from '../http/route.decorator.js';
import type { PanelRequest } from '../requests/panel-request.js';
import { nameReader } from '../services/services.js';
import type { TrafficReply } from '../shapes/overview.js';

@Controller()
export class TrafficController {
  constructor(private readonly activity: Activity) {}

  /** Refused requests are included. Numbers are there for the times in which a panel ran; `gaps` has the others. */
  @Handles('queryTraffic')
  query(@Req() request: PanelRequest, @Input(TrafficQuery) query: TrafficQuery): Promise<TrafficReply> {
    return this.activity.traffic(query, nameReader(request, query.accountId));
  }
}
