import { Controller, Param, Req } from '@nestjs/common';
import {
  AutoTopupSetRequest,
  autoTopupRemove,
  autoTopupSet,
  autoTopupShow,
  CheckoutCreateRequest,
  checkoutCreate,
} from '#contracts/payments.js';
import { IdPipe } from '../http/id.pipe.js';
import { Handles, Input } from '../http/route.decorator.js';
import type { PanelRequest } from '../requests/panel-request.js';
import { isOff, Services } from '../services/services.js';
import type { AutoTopup, CardPayments, CheckoutCreateReply } from '../shapes/payments.js';

@Controller()
export class PaymentsController {
  constructor(private readonly services: Services) {}

  @Handles('showCardPayments')
  async show(@Param('accountId', IdPipe) accountId: string): Promise<CardPayments> {
    try {
      return { offered: true, autoTopup: await this.services.ask(autoTopupShow, { accountId }) };
    } catch (error) {
      if (isOff(error)) return { offered: false, autoTopup: null };
      throw error;
    }
  }

  @Handles('createCheckout')
  checkout(@Req() request: PanelRequest, @Input(CheckoutCreateRequest) message: CheckoutCreateRequest): Promise<CheckoutCreateReply> {
    return this.services.change(request, checkoutCreate, message);
  }

  @Handles('setAutoTopup')
  set(@Req() request: PanelRequest, @Input(AutoTopupSetRequest) message: AutoTopupSetRequest): Promise<AutoTopup> {
    return this.services.change(request, autoTopupSet, message);
  }

  @Handles('removeAutoTopup')
  remove(@Req() request: PanelRequest, @Param('accountId', IdPipe) accountId: string): Promise<AutoTopup> {
    return this.services.change(request, autoTopupRemove, { accountId });
  }
}
