import { Controller, Inject } from '@nestjs/common';
import type { Caller } from '#contracts/audit.js';
import {
  DeliveryListRequest,
  deliveryList,
  WebhookAddRequest,
  WebhookListRequest,
  WebhookRemoveRequest,
  WebhookReplayRequest,
  WebhookResendRequest,
  WebhookRotateRequest,
  WebhookTestRequest,
  WebhookUpdateRequest,
  webhookAdd,
  webhookList,
  webhookRemove,
  webhookReplay,
  webhookResend,
  webhookRotate,
  webhookTest,
  webhookUpdate,
} from '#contracts/billing/webhooks.js';
import type { Author } from '#database/audit-journal.js';
import type { PrismaClient } from '#database/prisma-client.js';
import type { CallContext } from '#messaging/messaging.js';
import { Serves } from '#messaging/serves.js';
import type { Logger } from '#observability/logger.js';
import { BillingConfig } from '../billing.config.js';
import { DestinationClient } from '../events/destination-client.js';
import { replayWebhook } from '../events/replay-webhook.js';
import { resendEvent, testWebhook } from '../events/send-event.js';
import { listDeliveries } from '../events/webhook-answers.js';
import { addWebhook, listWebhooks, removeWebhook, rotateWebhook, updateWebhook } from '../events/webhooks.js';
import { LOGGER, PRISMA } from './injected.js';

@Controller()
export class WebhooksController {
  constructor(
    @Inject(PRISMA) private readonly prisma: PrismaClient,
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly config: BillingConfig,
    private readonly client: DestinationClient,
  ) {}

  @Serves(webhookAdd)
  async add(request: WebhookAddRequest, { caller }: CallContext) {
    return addWebhook(this.prisma, request, this.config.keyPepper, this.author(caller));
  }

  @Serves(webhookList)
  async list(request: WebhookListRequest, { caller }: CallContext) {
    return listWebhooks(this.prisma, request, { caller });
  }

  @Serves(webhookUpdate)
  async update(request: WebhookUpdateRequest, { caller }: CallContext) {
    return updateWebhook(this.prisma, request, this.author(caller));
  }

  @Serves(webhookRemove)
  async remove(request: WebhookRemoveRequest, { caller }: CallContext) {
    return removeWebhook(this.prisma, request, this.author(caller));
  }

  @Serves(webhookRotate)
  async rotate(request: WebhookRotateRequest, { caller }: CallContext) {
    return rotateWebhook(this.prisma, request, this.config.keyPepper, this.author(caller));
  }

  @Serves(webhookReplay)
  async replay(request: WebhookReplayRequest, { caller }: CallContext) {
    return replayWebhook(this.prisma, request, this.author(caller));
  }

  @Serves(webhookTest)
  async test(request: WebhookTestRequest, { caller }: CallContext) {
    return testWebhook(this.prisma, this.sender, request, this.author(caller));
  }

  @Serves(webhookResend)
  async resend(request: WebhookResendRequest, { caller }: CallContext) {
    return resendEvent(this.prisma, this.sender, request, this.author(caller));
  }

  @Serves(deliveryList)
  async listDeliveries(request: DeliveryListRequest, { caller }: CallContext) {
    return listDeliveries(this.prisma, request, { caller });
  }

  private get sender() {
    return { client: this.client, messages: this.config.messageSettings };
  }

  private author(caller: Caller): Author {
    return { caller, logger: this.logger };
  }
}
