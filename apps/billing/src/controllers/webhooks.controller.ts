import { Controller, Inject } from '@nestjs/common';
import {
  WebhookAddRequest,
  WebhookListRequest,
  WebhookRemoveRequest,
  WebhookReplayRequest,
  WebhookRotateRequest,
  WebhookTestRequest,
  webhookAdd,
  webhookList,
  webhookRemove,
  webhookReplay,
  webhookRotate,
  webhookTest,
} from '#contracts/billing/webhooks.js';
import type { PrismaClient } from '#database/prisma-client.js';
import type { CallContext } from '#messaging/messaging.js';
import { Serves } from '#messaging/serves.js';
import type { Logger } from '#observability/logger.js';
import { BillingConfig } from '../billing.config.js';
import { WebhookClient } from '../events/webhook-client.js';
import { addWebhook, listWebhooks, removeWebhook, replayWebhook, rotateWebhook, testWebhook } from '../events/webhooks.js';
import { LOGGER, PRISMA } from './injected.js';

@Controller()
export class WebhooksController {
  constructor(
    @Inject(PRISMA) private readonly prisma: PrismaClient,
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly config: BillingConfig,
    private readonly client: WebhookClient,
  ) {}

  @Serves(webhookAdd)
  async add(request: WebhookAddRequest, { caller }: CallContext) {
    return addWebhook(this.prisma, request, this.config.keyPepper, { caller, logger: this.logger });
  }

  @Serves(webhookList)
  async list(request: WebhookListRequest) {
    return listWebhooks(this.prisma, request);
  }

  @Serves(webhookRemove)
  async remove({ webhookId }: WebhookRemoveRequest, { caller }: CallContext) {
    return removeWebhook(this.prisma, webhookId, { caller, logger: this.logger });
  }

  @Serves(webhookRotate)
  async rotate(request: WebhookRotateRequest, { caller }: CallContext) {
    return rotateWebhook(this.prisma, request, this.config.keyPepper, { caller, logger: this.logger });
  }

  @Serves(webhookReplay)
  async replay(request: WebhookReplayRequest, { caller }: CallContext) {
    return replayWebhook(this.prisma, request, { caller, logger: this.logger });
  }

  @Serves(webhookTest)
  async test({ webhookId }: WebhookTestRequest, { caller }: CallContext) {
    const author = { caller, logger: this.logger };
    return testWebhook(this.prisma, this.client, webhookId, this.config.keyPepper, author);
  }
}
