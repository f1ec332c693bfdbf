import { Controller, Req } from '@nestjs/common';
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
import { Handles, Input } from '../http/route.decorator.js';
import { Mailer } from '../mail/mailer.js';
import { Recipients } from '../mail/recipients.js';
import { type PanelRequest, requireCaller } from '../requests/panel-request.js';
import { Services } from '../services/services.js';
import type {
  DeliveryListReply,
  ShownWebhooks,
  Webhook,
  WebhookAdded,
  WebhookReplayReply,
  WebhookTestReply,
  WebhookWithSecret,
} from '../shapes/billing.js';

/** Milliseconds for one message: longer than billing waits for a receiver. */
const MESSAGE_MS = 20_000;

/** Webhooks of an account. Billing shows people of the account those that one of them added, and demands that a change is of one of these. */
@Controller()
export class WebhooksController {
  constructor(
    private readonly services: Services,
    private readonly mailer: Mailer,
    private readonly recipients: Recipients,
  ) {}

  @Handles('listWebhooks')
  async list(@Req() request: PanelRequest, @Input(WebhookListRequest) query: WebhookListRequest): Promise<ShownWebhooks> {
    const { webhooks } = await this.services.askingFor(request).ask(webhookList, query);
    const mayUse = requireCaller(request).access.may('notifications', query.accountId ?? null);
    return { webhooks: mayUse ? webhooks : webhooks.map(hidePath), mail: this.mailer.state };
  }

  @Handles('createWebhook')
  async create(@Req() request: PanelRequest, @Input(WebhookAddRequest) message: WebhookAddRequest): Promise<WebhookAdded> {
    await this.recipients.demand(message.url, message.accountId ?? null);
    return this.services.change(request, webhookAdd, message);
  }

  @Handles('updateWebhook')
  async update(@Req() request: PanelRequest, @Input(WebhookUpdateRequest) message: WebhookUpdateRequest): Promise<Webhook> {
    await this.recipients.demand(message.url, message.accountId ?? null);
    return this.services.change(request, webhookUpdate, message);
  }

  @Handles('removeWebhook')
  remove(@Req() request: PanelRequest, @Input(WebhookRemoveRequest) message: WebhookRemoveRequest): Promise<Webhook> {
    return this.services.change(request, webhookRemove, message);
  }

  @Handles('rotateWebhook')
  rotate(@Req() request: PanelRequest, @Input(WebhookRotateRequest) message: WebhookRotateRequest): Promise<WebhookWithSecret> {
    return this.services.change(request, webhookRotate, message);
  }

  @Handles('testWebhook')
  test(@Req() request: PanelRequest, @Input(WebhookTestRequest) message: WebhookTestRequest): Promise<WebhookTestReply> {
    return this.services.change(request, webhookTest, message, MESSAGE_MS);
  }

  @Handles('replayWebhook')
  replay(@Req() request: PanelRequest, @Input(WebhookReplayRequest) message: WebhookReplayRequest): Promise<WebhookReplayReply> {
    return this.services.change(request, webhookReplay, message);
  }

  @Handles('listDeliveries')
  listDeliveries(@Req() request: PanelRequest, @Input(DeliveryListRequest) query: DeliveryListRequest): Promise<DeliveryListReply> {
    return this.services.askingFor(request).ask(deliveryList, query);
  }

  @Handles('resendEvent')
  resend(@Req() request: PanelRequest, @Input(WebhookResendRequest) message: WebhookResendRequest): Promise<WebhookTestReply> {
    return this.services.change(request, webhookResend, message, MESSAGE_MS);
  }
}

/** The path of a webhook's URL may be a secret, as those of chats are: who may not change the webhook does not see it. */
function hidePath(webhook: Webhook): Webhook {
  return webhook.format === 'mail' ? webhook : { ...webhook, url: `${new URL(webhook.url).origin}/…` };
}
