import { describeEvent } from '#contracts/rules/event-sentences.js';
import type { Delivery, Webhook } from '../../../../src/shapes/billing.js';
import type { Tone } from '../../data/outcomes.js';
import { exactUsd, plural } from '../../format/numbers.js';

/** A state in a word, with a line that says more. */
export interface StateWords {
  state: string;
  tone: Tone;
  more: string | null;
}

/** The state of a webhook: what a person has to do something about comes first. `hasMail`: false without a mail server. */
export function describeWebhook({ mutedAt, failure, undelivered, deadLetters, format }: Webhook, hasMail = true): StateWords {
  const waiting = undelivered > 0 ? `${plural(undelivered, 'event')} waiting` : null;
  const lost = deadLetters > 0 ? `${plural(deadLetters, 'event')} given up` : null;
  const counts = [waiting, lost].filter((text) => text !== null).join(', ') || null;
  if (mutedAt !== null) return { state: 'Muted', tone: 'neutral', more: lost };
  if (format === 'mail' && !hasMail) return { state: 'No mail server', tone: 'bad', more: 'the panel needs SMTP_URL' };
  if (failure !== null) return { state: 'Failing', tone: 'bad', more: [failure, counts].filter(Boolean).join(' · ') };
  if (deadLetters > 0) return { state: 'Events given up', tone: 'warn', more: counts };
  return { state: 'Working', tone: 'good', more: counts };
}

export const DELIVERY_STATES: Record<Delivery['state'], { name: string; tone: Tone }> = {
  waiting: { name: 'Waiting', tone: 'neutral' },
  retrying: { name: 'Retrying', tone: 'warn' },
  accepted: { name: 'Delivered', tone: 'good' },
  'given-up': { name: 'Given up', tone: 'bad' },
  failed: { name: 'Not delivered', tone: 'bad' },
};

/** `hooks.example.com` of the URL of a webhook, and the rest behind it; for mail the address. */
export function splitUrl(url: string): { host: string; path: string } {
  if (url.startsWith('mailto:')) return { host: url.replace('mailto:', ''), path: 'by mail' };
  const { host, pathname, search } = new URL(url);
  return { host, path: decodeURI(pathname) + search };
}

/** One sentence about an event, with exact amounts. */
export function describeDelivery({ event }: Delivery): string {
  return describeEvent({ ...event }, exactUsd);
}
