import type { WebhookFormat } from '#contracts/billing/webhooks.js';
import { type Describable, renderMail, renderSlack } from './render-notice.js';
import type { WebhookMessage } from './webhook-client.js';
import { type SigningKeys, signatureHeaders } from './webhook-signature.js';

/** Address and form of the messages of a webhook. */
interface Destination {
  url: string;
  allowPrivateNetwork: boolean;
  format: WebhookFormat;
}

/** The secret that messages are signed with, and the address of the panel that they link; null where it is not known. */
export interface MessageSettings {
  pepper: string;
  panelUrl: string | null;
}

/** Renders an event as a message that is signed now. */
export function renderMessage(
  { url, allowPrivateNetwork, format }: Destination,
  keys: SigningKeys,
  event: Describable & { eventId: string },
  { pepper, panelUrl }: MessageSettings,
): WebhookMessage {
  const forms = { json: () => event, slack: () => renderSlack(event, panelUrl), mail: () => renderMail(event, url) };
  const body = JSON.stringify(forms[format]());
  const headers = signatureHeaders(pepper, keys, { id: event.eventId, body, sentAt: Math.floor(Date.now() / 1_000) });
  return { url, allowPrivateNetwork, headers, body };
}
