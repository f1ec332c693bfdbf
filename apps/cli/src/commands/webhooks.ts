import {
  deliveryList,
  WEBHOOK_FORMATS,
  type Webhook,
  type WebhookAdded,
  type WebhookTestReply,
  webhookAdd,
  webhookList,
  webhookRemove,
  webhookReplay,
  webhookResend,
  webhookRotate,
  webhookTest,
  webhookUpdate,
} from '#contracts/billing/webhooks.js';
import { describeEvent } from '#contracts/rules/event-sentences.js';
import { renderUsd } from '#money/pico-usd.js';
import { command } from '../command.js';
import { readNames } from '../names.js';
import { accountId, argument, duration, flag, instant, oneOf, optional, required, text, wholeId, wholeNumber } from '../parameters.js';
import { renderFields, renderTable } from '../render.js';
import { readStart, TIME_FILTER } from '../time-range.js';
import { UsageError } from '../usage-error.js';

const id = argument(wholeId, 'id of the webhook, as in webhook list');
const FORMAT = oneOf(WEBHOOK_FORMATS, 'format');
/** Receivers have a day to take the new secret. */
const GRACE_DEFAULT_SECONDS = 86_400;
/** Longer than billing waits for a receiver. */
const TEST_TIMEOUT_MS = 20_000;

export const webhookCommands = [
  command({
    name: 'webhook add',
    summary: 'Send money events to a URL or a person from now on, and show the secret of their signatures once',
    parameters: {
      url: required(text(2_048, 'url'), 'https URL that gets each event by POST, or mailto:ada@example.com with --format mail'),
      account: optional(accountId, 'only events of this account; default: of all accounts'),
      format: optional(FORMAT, 'slack: one sentence, for chats; mail: one, by the mail server of the panel; default json'),
      allowPrivateNetwork: flag('allow loopback and private addresses, and http'),
    },
    examples: [
      'webhook add --url https://hooks.example.com/tollgate',
      'webhook add --url https://hooks.example.com/acme --account acme',
      'webhook add --url mailto:ada@example.com --account acme --format mail',
    ],
    endpoint: webhookAdd,
    request: ({ url, account, format, allowPrivateNetwork }) => ({ url, accountId: account, format, allowPrivateNetwork }),
    render: renderSecret,
  }),
  command({
    name: 'webhook list',
    summary: 'List the webhooks with what they have not got',
    parameters: { account: optional(accountId, 'only webhooks that get the events of this account') },
    examples: ['webhook list'],
    endpoint: webhookList,
    request: ({ account }) => ({ accountId: account }),
    lookUp: (_, messaging) => readNames(messaging, ['account']),
    render: ({ webhooks }, names) =>
      renderTable(webhooks, 'no webhooks', {
        'WEBHOOK ID': (row) => row.webhookId,
        ACCOUNT: (row) => names('account', row.accountId) ?? 'all',
        URL: (row) => row.url,
        FORMAT: (row) => row.format,
        MUTED: (row) => (row.mutedAt === null ? null : 'muted'),
        WAITING: (row) => String(row.undelivered),
        'LAST FAILURE': (row) => row.failure,
        DEAD: (row) => String(row.deadLetters),
        'DEAD SINCE': (row) => row.deadSince,
      }),
  }),
  command({
    name: 'webhook test',
    summary: 'Send a signed message of kind test to a webhook, once',
    parameters: { webhookId: id },
    examples: ['webhook test <webhook-id>'],
    endpoint: webhookTest,
    request: ({ webhookId }) => ({ webhookId }),
    render: renderAnswer,
    timeoutMs: TEST_TIMEOUT_MS,
    isFailure: ({ accepted }) => accepted === false,
  }),
  command({
    name: 'webhook update',
    summary: 'Change the URL of a webhook, or mute it: it then gets nothing, and what waits is dropped',
    parameters: {
      webhookId: id,
      url: optional(text(2_048, 'url'), 'https URL; waiting events go there at once'),
      format: optional(FORMAT, 'json, or slack for chats'),
      allowPrivateNetwork: flag('allow loopback and private addresses, and http'),
      mute: flag('send nothing from now on'),
      unmute: flag('send again, from the next event on'),
    },
    examples: ['webhook update <webhook-id> --mute', 'webhook update <webhook-id> --url https://hooks.example.com/acme'],
    endpoint: webhookUpdate,
    request: ({ webhookId, url, format, allowPrivateNetwork, mute, unmute }) => {
      if (mute && unmute) throw new UsageError('give --mute or --unmute');
      return { webhookId, url, format, allowPrivateNetwork: allowPrivateNetwork || undefined, muted: mute || (unmute ? false : undefined) };
    },
    render: renderWebhook,
  }),
  command({
    name: 'webhook deliveries',
    summary: 'List the events of the last 30 days that a webhook got or will get, newest first',
    parameters: {
      webhookId: id,
      account: optional(accountId, 'events of this account; needed for a webhook of all accounts'),
      limit: optional(wholeNumber(1, 200), 'rows; default 50'),
    },
    examples: ['webhook deliveries <webhook-id>'],
    endpoint: deliveryList,
    request: ({ webhookId, account, limit }) => ({ webhookId, accountId: account, limit }),
    render: ({ deliveries }) =>
      renderTable(deliveries, 'no events', {
        'EVENT ID': (row) => row.event.eventId,
        TIME: (row) => row.event.createdAt,
        STATE: (row) => row.state,
        ATTEMPTS: (row) => String(row.attempts),
        ANSWER: (row) => row.answer,
        EVENT: (row) => describeEvent({ ...row.event }, (pico) => `$${renderUsd(pico)}`),
      }),
  }),
  command({
    name: 'webhook resend',
    summary: 'Send one event to a webhook again, at once',
    parameters: { webhookId: id, eventId: argument(wholeId, 'id of the event, as in webhook deliveries') },
    examples: ['webhook resend <webhook-id> <event-id>'],
    endpoint: webhookResend,
    request: ({ webhookId, eventId }) => ({ webhookId, eventId }),
    render: renderAnswer,
    timeoutMs: TEST_TIMEOUT_MS,
    isFailure: ({ accepted }) => accepted === false,
  }),
  command({
    name: 'webhook replay',
    summary: 'Send the events since a time again, those that were given up included',
    parameters: {
      webhookId: id,
      from: optional(instant, 'events since then, in their order and with their ids'),
      since: TIME_FILTER.since,
      account: optional(accountId, 'only events of this account'),
    },
    examples: ['webhook replay <webhook-id> --since 2h', 'webhook replay <webhook-id> --from 2027-01-31T12:00:00Z'],
    endpoint: webhookReplay,
    request: ({ webhookId, account, ...start }) => {
      const from = readStart(start);
      if (from === undefined) throw new UsageError('give --from or --since');
      return { webhookId, from, accountId: account };
    },
    render: ({ events }) => `${events} events are sent again`,
  }),
  command({
    name: 'webhook rotate',
    summary: 'Give a webhook a new secret; for a time messages are signed with both',
    parameters: {
      webhookId: id,
      grace: optional(
        duration('30d'),
        'how long the secret before stays valid; default 1d; 0s ends all before at once, also during another grace',
      ),
    },
    examples: ['webhook rotate <webhook-id>', 'webhook rotate <webhook-id> --grace 0s'],
    endpoint: webhookRotate,
    request: ({ webhookId, grace }) => ({ webhookId, graceSeconds: grace ?? GRACE_DEFAULT_SECONDS }),
    render: renderSecret,
  }),
  command({
    name: 'webhook remove',
    summary: 'Remove a webhook with its undelivered events',
    parameters: { webhookId: id },
    examples: ['webhook remove <webhook-id>'],
    endpoint: webhookRemove,
    request: ({ webhookId }) => ({ webhookId }),
    render: (webhook) => `removed\n${renderWebhook(webhook)}`,
  }),
];

function renderAnswer({ accepted, answer, milliseconds }: WebhookTestReply): string {
  return accepted ? `accepted in ${milliseconds} ms` : `not accepted after ${milliseconds} ms: ${answer}`;
}

function renderSecret(webhook: WebhookAdded): string {
  const { webhookId, secret, format } = webhook;
  const rendered = renderWebhook(webhook);
  // Mails are not signed.
  if (format === 'mail') return `${rendered}\n\nThe panel sends the mails: webhook test ${webhookId} sends one now.`;
  return secret === null
    ? `${rendered}\n\nThis webhook was added before. Its secret is not shown again; webhook rotate ${webhookId} --grace 0s gives it a new one.`
    : `${rendered}\n\n${secret}\n\nThis is the secret of the signatures. It is shown once.`;
}

function renderWebhook(webhook: Webhook): string {
  return renderFields({
    webhook: webhook.webhookId,
    account: webhook.accountId ?? 'all',
    url: webhook.url,
    format: webhook.format,
    'private network': webhook.allowPrivateNetwork ? 'allowed' : null,
    'secret before until': webhook.previousSecretUntil,
    created: webhook.createdAt,
    'muted since': webhook.mutedAt,
  });
}
