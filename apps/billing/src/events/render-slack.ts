import type { MoneyEventKind } from '#contracts/billing/events.js';
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
};

/** An event, or the message of a test, which has no account. */
export interface Describable {
  kind: string;
  accountId?: string;
}

/** Renders one sentence and a link for chats that take Slack's messages. `panelUrl` is null where it is not known. */
export function renderSlack(event: Describable, panelUrl: string | null): { text: string } {
  if (event.kind === 'test') return { text: 'Tollgate: this is a test. Events of the account come here.' };
  const sentence = escapeLinks(describeEvent({ ...event }, roundUsd));
  const page = Object.hasOwn(PAGES, event.kind) ? PAGES[event.kind as MoneyEventKind] : 'overview';
  return { text: panelUrl === null ? sentence : `${sentence} ${panelUrl}/panel/a/${event.accountId}/${page}` };
}

/** Names may hold the signs of Slack's links and mentions. */
function escapeLinks(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
