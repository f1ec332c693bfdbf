// Sentences for money events, for the pages, chats and mails. Imports nothing: browsers load it.

/** The fields of a money event, of whatever kind it is. */
type Fields = Readonly<Record<string, unknown>>;

/** Returns one sentence about an event: `Acme: the monthly budget of project web has spent 80 %, $400.12 of $500.00.` */
export function describeEvent(event: Fields & { kind: string }, usd: (picoUsd: bigint) => string): string {
  const words = new Words(event, usd);
  const sentence = Object.hasOwn(SENTENCES, event.kind) ? SENTENCES[event.kind as SentencedKind](words) : event.kind;
  return typeof event.accountName === 'string' ? `${event.accountName}: ${sentence}.` : `${capital(sentence)}.`;
}

/** Returns the name of the budget of an event with names: `monthly budget of project web`. */
export function nameBudget({ period, accountName, projectName, keyName, dimension, value, limitTokens }: Fields): string {
  const target = typeof keyName === 'string' ? `key ${keyName}` : typeof projectName === 'string' ? `project ${projectName}` : undefined;
  const tag = typeof dimension === 'string' ? dimension.replace('tag:', '') : undefined;
  const part = tag === undefined ? '' : `${tag} ${text(value)} of `;
  const unit = limitTokens === undefined ? 'budget' : 'budget of tokens';
  return `${PERIODS[text(period)] ?? text(period)} ${unit} of ${part}${target ?? `account ${text(accountName)}`}`;
}

const PERIODS: Readonly<Record<string, string>> = { day: 'daily', week: 'weekly', month: 'monthly', total: 'total' };

const SENTENCES = {
  'balance-low': (words) => `the balance is low, ${words.usd('balancePicoUsd')} with a threshold of ${words.usd('lowBalancePicoUsd')}`,
  'balance-exhausted': (words) =>
    `a request that needs ${words.usd('requiredPicoUsd')} was refused, the balance is ${words.usd('balancePicoUsd')}`,
  'budget-threshold': (words) => `the ${words.budget()} has spent ${words.text('percent')} %, ${words.spent()}`,
  'budget-exhausted': (words) => `the ${words.budget()} refused a request that needs ${words.required()}, ${words.spent()} is spent`,
  'budget-reset': (words) => `the ${words.budget()} began again, ${words.spent()} was spent before`,
  'plan-expired': (words) => `a plan ended, ${words.usd('forfeitedPicoUsd')} of it was not used`,
  'key-expiring': (words) =>
    `the key ${words.text('keyName', 'keyId')} of project ${words.text('projectName', 'projectId')} ends on ${words.time('expiresAt')}`,
  'account-frozen': (words) => `the account is frozen${words.has('reason') ? `, ${words.text('reason')}` : ''}`,
  'spend-unusual': (words) =>
    `project ${words.text('projectName', 'projectId')} has spent ${words.usd('spentPicoUsd')} in the hour from ${words.time('hour')}, its median hour is ${words.usd('medianPicoUsd')}`,
  'ledger-fault': (words) => `the ledger check found a fault, ${words.text('invariants')}`,
} as const satisfies Record<string, (words: Words) => string>;

type SentencedKind = keyof typeof SENTENCES;

/** Kinds of money events that have a sentence. */
export const SENTENCED_KINDS = Object.keys(SENTENCES) as readonly SentencedKind[];

/** Reads the fields of an event. */
class Words {
  constructor(
    private readonly event: Fields,
    private readonly renderUsd: (picoUsd: bigint) => string,
  ) {}

  has(field: string): boolean {
    return this.event[field] !== undefined && this.event[field] !== null;
  }

  /** Returns the first of the fields that the event has. */
  text(...fields: string[]): string {
    return text(fields.map((field) => this.event[field]).find((value) => value !== undefined && value !== null));
  }

  usd(field: string): string {
    const amount = this.event[field];
    return typeof amount === 'string' && /^-?\d+$/.test(amount) ? this.renderUsd(BigInt(amount)) : 'an unknown amount';
  }

  time(field: string): string {
    return this.text(field).replace(/T(\d\d:\d\d).*$/, ' $1 UTC');
  }

  budget(): string {
    return this.has('budgetName') ? this.text('budgetName') : `${PERIODS[this.text('period')] ?? this.text('period')} budget`;
  }

  spent(): string {
    return `${this.amount('spent')} of ${this.amount('limit')}`;
  }

  required(): string {
    return this.amount('required');
  }

  /** An amount of a budget, in tokens or in dollars. */
  private amount(name: string): string {
    return this.has(`${name}Tokens`) ? `${this.text(`${name}Tokens`)} tokens` : this.usd(`${name}PicoUsd`);
  }
}

function text(value: unknown): string {
  return Array.isArray(value) ? value.join(', ') : String(value ?? 'unknown');
}

function capital(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}
