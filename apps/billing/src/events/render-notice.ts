import type { MoneyEventKind } from '#contracts/billing/events.js';
import type { MailSendRequest } from '#contracts/panel.js';
import { describeEvent } from '#contracts/rules/event-sentences.js';
import { roundUsd } from '#money/round-usd.js';

/** Page of the panel that shows what an event is about. */
const PAGES: Record<MoneyEventKind, string> = {
  'balance-low': 'money',
  'balance-exhausted': 'money',
  'budget-threshold': 'budgets',
  'budget-exhausted': 'budgets',
  'budget-reset': 'budgets',
  'plan-expired': 'money',
  'key-expiring': 'keys',
  'account-frozen': 'overview',
  'ledger-fault': 'overview',
  'spend-unusual': 'usage',
};

/** Room for the names and the reason of an event. */
const SENTENCE_LENGTH_MAX = 2_000;

/** An event, or the message of a test, which has no account. */
export interface Describable {
  kind: string;
  accountId?: string;
}

/** Renders one sentence and a link for chats that take Slack's messages. `panelUrl` is null where it is not known. */
export function renderSlack(event: Describable, panelUrl: string | null): { text: string } {
  const { sentence, page } = renderNotice(event);
  const text = escapeLinks(sentence);
  return { text: panelUrl === null || page === undefined ? text : `${text} ${panelUrl}/panel/a/${event.accountId}/${page}` };
}

/** Renders what the panel mails to the address of a `mailto:` URL. */
export function renderMail(event: Describable, url: string): MailSendRequest {
  const { accountId } = event;
  return { email: url.replace('mailto:', ''), ...(accountId !== undefined && { accountId }), ...renderNotice(event) };
}

function renderNotice(event: Describable): { sentence: string; page?: string } {
  if (event.kind === 'test') return { sentence: 'Tollgate: this is a test. Events of the account come here.' };
  const sentence = describeEvent({ ...event }, roundUsd).slice(0, SENTENCE_LENGTH_MAX);
  return { sentence, page: Object.hasOwn(PAGES, event.kind) ? PAGES[event.kind as MoneyEventKind] : 'overview' };
}

/** Names may hold the signs of Slack's links and mentions. */
function escapeLinks(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
