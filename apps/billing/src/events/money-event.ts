import type { MoneyEvent, MoneyEventKind } from '#contracts/billing/events.js';
import { nameBudget } from '#contracts/rules/event-sentences.js';

/** Columns of `billing.money_event` that a delivery needs, of the table `e`. */
export const EVENT_COLUMNS = 'e.id, e.account_id, e.sequence::text, e.kind, e.payload, e.names, e.created_at';

export interface EventRow {
  id: string;
  account_id: string;
  sequence: string;
  kind: MoneyEventKind;
  payload: Record<string, unknown>;
  /** Names of the account, the project and the key. Empty for events that an earlier version wrote. */
  names: Record<string, string>;
  created_at: Date;
}

/** Renders an event as it is sent: the same at every delivery. */
export function renderEvent({ id, account_id, sequence, kind, payload, names, created_at }: EventRow): MoneyEvent {
  const createdAt = created_at.toISOString();
  const budgetName = 'budgetId' in payload && 'accountName' in names ? { budgetName: nameBudget({ ...payload, ...names }) } : {};
  return { eventId: id, kind, accountId: account_id, sequence: Number(sequence), createdAt, ...names, ...budgetName, ...payload };
}
