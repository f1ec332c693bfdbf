import { IsBoolean, IsIn, IsInt, IsOptional, Max, Min } from 'class-validator';
import { Endpoint } from '../endpoint.js';
import type { MoneyEvent } from './events.js';
import { Id, Instant, type Paged, Text } from './fields.js';

/**
 * Form of the messages of a webhook: the event as JSON; `{"text": …}` with one sentence about it, as Slack and others take it; or this sentence
 * by mail, to a URL such as `mailto:ada@example.com`.
 */
export const WEBHOOK_FORMATS = ['json', 'slack', 'mail'] as const;
export type WebhookFormat = (typeof WEBHOOK_FORMATS)[number];

/** A URL that gets money events by POST. */
export interface Webhook {
  webhookId: string;
  /** Null: the events of all accounts. */
  accountId: string | null;
  url: string;
  format: WebhookFormat;
  allowPrivateNetwork: boolean;
  /** Until then messages are signed with the secret before as well. Null: no rotation is under way. */
  previousSecretUntil: string | null;
  createdAt: string;
  /** Since then it gets nothing. Null: it is not muted. */
  mutedAt: string | null;
  /** Events that wait, those that are repeated included. */
  undelivered: number;
  /** Failure of the last attempt for the account that is tried again first. Null: no account's last attempt failed. */
  failure: string | null;
  /** Events that were given up. A replay from `deadSince` sends them again. */
  deadLetters: number;
  /** Time of the first of these events. Null: there are none. */
  deadSince: string | null;
  /** Source of the tenants file that owns it: the next apply takes back other changes. Absent: none does. */
  managedBy?: string;
}

/** The secret is shown once. */
export interface WebhookWithSecret extends Webhook {
  secret: string;
}

export interface WebhookAdded extends Webhook {
  /** Null: the webhook was added before. Its secret is not shown again; a rotation gives it a new one. */
  secret: string | null;
}

export class WebhookAddRequest {
  /** Chosen by the caller, so that a repeated request adds one webhook. Default: a new one. */
  @IsOptional() @Id() webhookId?: string;
  /** Absent: the events of all accounts. */
  @IsOptional() @Id() accountId?: string;
  /** With https; with http only if private networks are allowed. `mailto:` and an address for the format `mail`. */
  @Text(2_048) url!: string;
  /** Default: `json`. */
  @IsOptional() @IsIn(WEBHOOK_FORMATS) format?: WebhookFormat;
  /** True to allow loopback and private addresses. */
  @IsOptional() @IsBoolean() allowPrivateNetwork?: boolean;
}

/**
 * Replies `not_found` for an unknown account, and `conflict` when there are 1,000 webhooks of the operator or 20 of the people of an account,
 * the id is that of another, or it was that of a removed one of another account.
 */
export const webhookAdd = new Endpoint<WebhookAddRequest, WebhookAdded>('billing.v1.webhook.add', WebhookAddRequest, {
  about: 'Adds a webhook for the money events from now on; the first reply has its secret',
  isRecorded: true,
});

export class WebhookListRequest {
  /** Only webhooks that get the events of this account. */
  @IsOptional() @Id() accountId?: string;
}

export interface WebhookListReply {
  webhooks: Webhook[];
}

export const webhookList = new Endpoint<WebhookListRequest, WebhookListReply>('billing.v1.webhook.list', WebhookListRequest, {
  about: 'All webhooks with what they have not got, oldest first',
});

/** The webhook that a request is about. */
class WebhookRequest {
  @Id() webhookId!: string;
  /** Only a webhook that gets the events of this account: any other is `not_found`. For people of an account, only one that they added. */
  @IsOptional() @Id() accountId?: string;
}

export class WebhookUpdateRequest extends WebhookRequest {
  /** Waiting events go to the new URL at once. */
  @IsOptional() @Text(2_048) url?: string;
  @IsOptional() @IsIn(WEBHOOK_FORMATS) format?: WebhookFormat;
  @IsOptional() @IsBoolean() allowPrivateNetwork?: boolean;
  /** True: it gets nothing from now on, and what waits is dropped. A replay sends events of that time. */
  @IsOptional() @IsBoolean() muted?: boolean;
}

export const webhookUpdate = new Endpoint<WebhookUpdateRequest, Webhook>('billing.v1.webhook.update', WebhookUpdateRequest, {
  about: 'Changes the URL or the format of a webhook, or mutes it',
  isRecorded: true,
});

export class WebhookRemoveRequest extends WebhookRequest {}

export const webhookRemove = new Endpoint<WebhookRemoveRequest, Webhook>('billing.v1.webhook.remove', WebhookRemoveRequest, {
  about: 'Removes a webhook with its undelivered events',
  isRecorded: true,
});

export class WebhookRotateRequest extends WebhookRequest {
  /** Seconds for which messages are signed with both secrets. 0 ends all secrets before at once. */
  @IsInt() @Min(0) @Max(2_592_000) graceSeconds!: number;
}

/** Replies `conflict` to a grace while the secret before is still valid by another. */
export const webhookRotate = new Endpoint<WebhookRotateRequest, WebhookWithSecret>('billing.v1.webhook.rotate', WebhookRotateRequest, {
  about: 'Gives a webhook a new secret; both are valid for a time',
  isRecorded: true,
});

/** With `accountId` only events of this account. */
export class WebhookReplayRequest extends WebhookRequest {
  /** Events since then are sent again, in their order and with their ids. */
  @Instant() from!: string;
}

export interface WebhookReplayReply {
  webhookId: string;
  /** Number of events that are sent again. */
  events: number;
}

export const webhookReplay = new Endpoint<WebhookReplayRequest, WebhookReplayReply>('billing.v1.webhook.replay', WebhookReplayRequest, {
  about: 'Sends the events since a time again, those that were given up included',
  isRecorded: true,
});

export class WebhookTestRequest extends WebhookRequest {}

/** The outcome of one message. */
export interface WebhookTestReply {
  webhookId: string;
  accepted: boolean;
  /** Null: the receiver accepted the message. */
  failure: string | null;
  /** `status 204`, or why there was no status. */
  answer: string;
  milliseconds: number;
}

export const webhookTest = new Endpoint<WebhookTestRequest, WebhookTestReply>('billing.v1.webhook.test', WebhookTestRequest, {
  about: 'Sends a signed message of kind `test` to a webhook, once',
  isRecorded: true,
});

export class WebhookResendRequest extends WebhookRequest {
  @Id() eventId!: string;
}

/** Replies `not_found` for an event that the webhook does not get, or that is no longer kept. */
export const webhookResend = new Endpoint<WebhookResendRequest, WebhookTestReply>('billing.v1.webhook.resend', WebhookResendRequest, {
  about: 'Sends one event to a webhook again, at once and without its order',
  isRecorded: true,
});

/**
 * `waiting`: not tried yet. `retrying`: tried, and not accepted yet. `given-up`: after three days. `failed`: not accepted and not tried again,
 * because the webhook was muted, or the event was sent by hand.
 */
export type DeliveryState = 'waiting' | 'retrying' | 'accepted' | 'given-up' | 'failed';

/** An event and what came of it at one webhook. */
export interface Delivery {
  event: MoneyEvent;
  state: DeliveryState;
  /** Attempts so far, those of replays included. */
  attempts: number;
  /** Answer to the last attempt: `status 204`, or why there was no status. Null: none yet. */
  answer: string | null;
  /** Milliseconds until this answer. */
  milliseconds: number | null;
  attemptedAt: string | null;
  /** Null: there is no further attempt. */
  nextAttemptAt: string | null;
}

export class DeliveryListRequest extends WebhookRequest {
  /** Rows on one page. Default 50. */
  @IsOptional() @IsInt() @Min(1) @Max(200) limit?: number;
  @IsOptional() @Text(200) cursor?: string;
}

export interface DeliveryListReply extends Paged {
  deliveries: Delivery[];
}

/** Replies `invalid_request` for a webhook of all accounts without `accountId`. */
export const deliveryList = new Endpoint<DeliveryListRequest, DeliveryListReply>('billing.v1.webhook.deliveries', DeliveryListRequest, {
  about: 'The events of the last 30 days that a webhook got or will get, newest first',
});
