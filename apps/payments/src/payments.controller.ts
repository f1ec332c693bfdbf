import { Controller } from '@nestjs/common';
import { type CheckoutCreateReply, CheckoutCreateRequest, checkoutCreate } from '#contracts/payments.js';
import { Serves } from '#messaging/serves.js';
import { Checkouts } from './checkout/create-checkout.js';

@Controller()
export class PaymentsController {
  constructor(private readonly checkouts: Checkouts) {}

  @Serves(checkoutCreate)
  checkout(request: CheckoutCreateRequest): Promise<CheckoutCreateReply> {
    return this.checkouts.create(request);
  }
}
