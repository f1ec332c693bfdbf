import { Controller, Req } from '@nestjs/common';
import { RequestShowRequest } from '#contracts/billing/requests.js';
import { Handles } from '../http/handles.decorator.js';
import { callerOf, type PanelRequest } from '../http/panel-request.js';
import { Services } from '../services/services.js';
import { Input } from './input.decorator.js';
import { ownedRequest } from './owned.js';
import type { BilledRequest } from './shapes/requests.js';

@Controller()
export class RequestsController {
  constructor(private readonly services: Services) {}

  @Handles('showRequest')
  show(@Req() request: PanelRequest, @Input(RequestShowRequest) { requestId }: RequestShowRequest): Promise<BilledRequest> {
    return ownedRequest(this.services, callerOf(request).access, 'requests.read', requestId);
  }
}
