import { IsBoolean, IsInt, IsOptional, Max, Min } from 'class-validator';
import { Endpoint } from '../endpoint.js';
import { Id, Instant, Text } from './fields.js';

/** A URL that gets money events by POST. */
export interface Webhook {
  webhookId: string;
  /** Null: the events of all accounts. */
  accountId: string | null;
  url: string;
  allowPrivateNetwork: boolean;
  /** Until then messages are signed with the secret before as well. Null: no rotation is under way. */
  previousSecretUntil: string | null;
  createdAt: string;
  /** Events that wait, those that are repeated included. */
  undelivered: number;
  /** Failure of the last attempt for the account that is tried again first. Null: no account's last attempt failed. */
  failure: string | null;
  /** Events that were given up. A replay from `deadSince` sends them again. */
  deadLetters: number;
  /** Time of the first of these events. Null: there are none. */
  deadSince: string | null;
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
  /** With https; with http only if private networks are allowed. */
  @Text(2_048) url!: string;
  /** True to allow loopback and private addresses. */
  @IsOptional() @IsBoolean() allowPrivateNetwork?: boolean;
}

/**
 * Replies `not_found` for an unknown account, and `conflict` when there are 1,000 webhooks, the id is that of another, or it was that of a
 * removed one of another account.
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

export class WebhookRemoveRequest {
  @Id() webhookId!: string;
}

export const webhookRemove = new Endpoint<WebhookRemoveRequest, Webhook>('billing.v1.webhook.remove', WebhookRemoveRequest, {
  about: 'Removes a webhook with its undelivered events',
  isRecorded: true,
});

export class WebhookRotateRequest {
  @Id() webhookId!: string;
  /** Seconds for which messages are signed with both secrets. 0 ends all secrets before at once. */
  @IsInt() @Min(0) @Max(2_592_000) graceSeconds!: number;
}

/** Replies `conflict` to a grace while the secret before is still valid by another. */
export const webhookRotate = new Endpoint<WebhookRotateRequest, WebhookWithSecret>('billing.v1.webhook.rotate', WebhookRotateRequest, {
  about: 'Gives a webhook a new secret; both are valid for a time',
  isRecorded: true,
});

export class WebhookReplayRequest {
  @Id() webhookId!: string;
  /** Only events of this account. */
  @IsOptional() @Id() accountId?: string;
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

export class WebhookTestRequest {
  @Id() webhookId!: string;
}

export interface WebhookTestReply {
  webhookId: string;
  accepted: boolean;
  /** Null: the receiver accepted the message. */
  failure: string | null;
  milliseconds: number;
}

export const webhookTest = new Endpoint<WebhookTestRequest, WebhookTestReply>('billing.v1.webhook.test', WebhookTestRequest, {
  about: 'Sends a signed message of kind `test` to a webhook, once',
  isRecorded: true,
});
