import { type MailSendRequest, mailSend } from '#contracts/panel.js';
import type { Messaging } from '#messaging/messaging.js';
import type { WebhookAnswer, WebhookClient, WebhookMessage } from './webhook-client.js';

/** Longer than the panel waits for a mail server. */
const MAIL_TIMEOUT_MS = 25_000;

/** Sends messages to webhooks, and those to e-mail addresses by the panel, which alone has the secret of the mail server. */
export class DestinationClient {
  constructor(
    private readonly webhooks: Pick<WebhookClient, 'send'>,
    private readonly messaging: Pick<Messaging, 'request'>,
  ) {}

  /** Sends a message once and returns the answer. Never throws. */
  async send(message: WebhookMessage): Promise<WebhookAnswer> {
    if (!message.url.startsWith('mailto:')) return this.webhooks.send(message);
    const start = performance.now();
    try {
      return await this.messaging.request(mailSend, JSON.parse(message.body) as MailSendRequest, { timeoutMs: MAIL_TIMEOUT_MS });
    } catch {
      return {
        accepted: false,
        answer: 'the panel, which sends mail, does not answer',
        milliseconds: Math.round(performance.now() - start),
      };
    }
  }
}
