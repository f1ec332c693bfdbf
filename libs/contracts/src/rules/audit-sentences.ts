// Sentences for the rows of the audit journals, for the command line and the pages. Imports nothing: browsers load it.

/** The fields of an audit entry that its sentence is made of. */
interface Entry {
  action: string;
  accountId: string | null;
  target: string;
  before: Readonly<Record<string, unknown>> | null;
  after: Readonly<Record<string, unknown>> | null;
}

/** The names, amounts and times as the reader's program writes them. */
export interface AuditWords {
  /** Returns the name of an account, project, key or user, and of a budget `daily budget of project web`. Undefined: it is not known. */
  name(kind: string, id: string): string | undefined;
  usd(picoUsd: bigint): string;
  time(at: string): string;
  /** Returns the text of a thing with what makes it a link. Absent: the text alone. */
  link?(text: string, kind: string, id: string): string;
}

/** Completes the sentence that begins with the actor: `set a daily budget of $0.003 on project web`. */
export function describeAudit(entry: Entry, words: AuditWords): string {
  const row = new Row(entry, words);
  const sentence = Object.hasOwn(SENTENCES, entry.action) ? SENTENCES[entry.action as AuditedAction](row) : undefined;
  return sentence ?? [`${entry.action} ${entry.target}`, row.changes()].filter(Boolean).join(': ');
}

/** A sentence, or undefined when the row lacks the fields that it needs. */
type Sentence = (row: Row) => string | undefined;

const SENTENCES = {
  'account.create': (row) => `opened ${row.target()}`,
  'account.update': (row) => {
    const { status } = row.after;
    const verb = status === 'frozen' ? 'froze' : status === 'active' ? 'unfroze' : 'changed';
    return row.changed(`${verb} ${row.target()}`, 'status', 'statusReason');
  },
  'project.create': (row) => `created ${row.target()}${row.ofAccount()}`,
  'project.update': (row) => {
    const { enabled } = row.after;
    const verb = enabled === true ? 'enabled' : enabled === false ? 'disabled' : 'changed';
    return row.changed(`${verb} ${row.target()}`, 'enabled');
  },
  'key.create': (row) => `made ${row.target()}${row.of('project', row.after.projectId)}`,
  'key.update': (row) => {
    const { disabled } = row.after;
    const verb = disabled === false ? 'enabled' : disabled === true ? 'disabled' : 'changed';
    return row.changed(`${verb} ${row.target()}`, 'disabled');
  },
  'key.rotate': (row) => `replaced ${row.target()}${row.until(row.after.expiresAt)}`,
  'key.revoke': (row) => `revoked ${row.target()}`,
  'child-key.create': (row) => `made a child key of ${row.target()}${row.until(row.after.expiresAt)}`,
  'child-key.revoke': (row) => `revoked the child key ${row.text(row.after.childId)} of ${row.target()}`,
  'budget.create': (row) => {
    const limit = row.limit(row.after);
    return limit && `set a ${row.budget(row.after, ` of ${limit} on`)}`;
  },
  'budget.update': (row) => {
    const [before, after] = [row.limit(row.before), row.limit(row.after)];
    const budget = `the ${row.after.period === undefined ? (row.known() ?? 'limit of a budget') : row.budget(row.after, ' of')}`;
    if (!after) return row.changed(`changed ${budget}`, ...BUDGET_PLACE);
    return row.changed(`set ${budget} to ${after}, before ${before ?? 'none'}`, ...BUDGET_PLACE, 'limitPicoUsd', 'limitTokens');
  },
  'budget.remove': (row) => {
    const limit = row.limit(row.before);
    return limit && `removed the ${row.budget(row.before, ` of ${limit} on`)}`;
  },
  'topup.create': (row) => row.amount && `topped up ${row.account()} by ${row.amount}${row.reference()}`,
  'refund.create': (row) => row.amount && `refunded ${row.amount} of ${row.account()}${row.reference()}`,
  'adjustment.create': (row) =>
    row.amount && `${row.isDebit ? 'took' : 'gave'} ${row.amount} ${row.isDebit ? 'from' : 'to'} ${row.account()}${row.reference()}`,
  'credit-note.create': (row) => row.amount && `gave ${row.amount} back to ${row.account()}${row.reference()}`,
  'plan.grant': (row) => {
    const { planBalancePicoUsd, expiresAt } = row.after;
    return `granted ${row.account()} a plan balance of ${row.value('planBalancePicoUsd', planBalancePicoUsd)}${row.until(expiresAt)}`;
  },
  'plan.subscribe': (row) => {
    const { amountPicoUsd, period } = row.after;
    if (row.entry.before !== null) return row.changed(`changed the plan of ${row.account()}`);
    return `subscribed ${row.account()} to a plan of ${row.value('amountPicoUsd', amountPicoUsd)} each ${row.value('period', period)}`;
  },
  'plan.cancel': (row) => `ended the plan of ${row.account()}`,
  'auto-topup.set': (row) => {
    const { amountPicoUsd, monthlyCapPicoUsd, thresholdPicoUsd } = row.after;
    const [amount, cap] = [row.value('amountPicoUsd', amountPicoUsd), row.value('monthlyCapPicoUsd', monthlyCapPicoUsd)];
    return `set automatic top-ups of ${row.account()}: ${amount} below ${row.value('thresholdPicoUsd', thresholdPicoUsd)}, at most ${cap} a month`;
  },
  'auto-topup.remove': (row) => `ended the automatic top-ups of ${row.account()}`,
  'statement-mail.create': (row) => `switched on statements${row.ofAccount()} by mail to ${row.target()}`,
  'statement-mail.remove': (row) => `switched off statements${row.ofAccount()} by mail to ${row.target()}`,
  'usage.rebuild': () => 'rebuilt the rollups of usage',
  'ledger.check': (row) => `checked the ledger${row.after.full === true ? ' in full' : ''}`,
  'month.close': (row) => `closed month ${row.id}`,
  'month.detach': (row) => `detached month ${row.id}`,
  'month.attach': (row) => `attached month ${row.id}`,
  'webhook.create': (row) => `added a webhook to ${row.text(row.after.origin)}${row.ofAccount(' for')}`,
  'webhook.update': (row) => {
    const { muted, origin } = row.after;
    const verb = muted === true ? 'muted' : muted === false ? 'unmuted' : 'changed';
    return `${verb} the webhook to ${row.text(origin)}${row.ofAccount(' for')}`;
  },
  'webhook.remove': (row) => `removed the webhook to ${row.text(row.before.origin)}${row.ofAccount(' for')}`,
  'webhook.rotate': (row) => `gave ${row.target()} a new secret${row.ofAccount(' for')}`,
  'webhook.replay': (row) =>
    `sent ${row.text(row.after.events)} events since ${row.text(row.after.from)} to ${row.target()} again${row.of('account', row.after.accountId)}`,
  'webhook.test': (row) => `tested the webhook to ${row.text(row.after.origin)}${row.ofAccount(' for')}`,
  'webhook.resend': (row) => `sent an event of kind ${row.text(row.after.kind)} to ${row.target()} again${row.ofAccount(' for')}`,
  'catalog.apply': (row) =>
    `applied revision ${row.id} of the catalog${typeof row.after.fileName === 'string' ? ` from ${row.after.fileName}` : ''}${row.entries()}`,
  'price.schedule': (row) => `scheduled a price of ${row.text(row.after.model)} from ${row.text(row.after.effectiveAt)}`,
  'price.cancel': (row) => `cancelled the scheduled price of ${row.text(row.after.model)}`,
  'price.apply': (row) => `applied a scheduled price, revision ${row.text(row.after.revision)}${row.entries()}`,
  'upstream.test': (row) => `tested upstream ${row.id}`,
  'invite.create': (row) => `invited ${row.person(row.after.email)} as ${row.text(row.after.role)}${row.ofAccount()}`,
  'invite.withdraw': (row) => `withdrew the invite of ${row.person(row.before.email)} as ${row.text(row.before.role)}${row.ofAccount()}`,
  'invite.accept': (row) => `accepted an invite as ${row.text(row.after.role)}${row.ofAccount()}`,
  'member.update': (row) => `made ${row.target()} ${row.text(row.after.role)}${row.ofAccount()}, before ${row.text(row.before.role)}`,
  'member.remove': (row) => `removed ${row.target()}, ${row.text(row.before.role)}${row.ofAccount()}`,
  'user.create': (row) => `joined as ${row.text(row.after.email)}`,
  'user.update': (row) => {
    const { disabled } = row.after;
    if (disabled === undefined) return row.changed(`changed ${row.target()}`);
    return disabled === true ? `kept ${row.target()} out of the panel` : `let ${row.target()} into the panel again`;
  },
  'user.set-password': (row) => `set a password of ${row.target()}`,
  'user.remove-password': (row) => `removed the password of ${row.target()}`,
  'factor.add': (row) => `added the ${row.text(row.after.kind)} ${row.text(row.after.name)} as second factor`,
  'factor.remove': (row) => `removed the ${row.text(row.before.kind)} ${row.text(row.before.name)} as second factor`,
  'factor.make-codes': () => 'made new recovery codes',
  'factor.reset': (row) => `removed the second factors of ${row.target()}`,
  'session.start': (row) => `signed in${typeof row.after.provider === 'string' ? ` with ${row.after.provider}` : ''}`,
  'session.confirm': () => 'gave the password again',
  'session.refuse': () => 'was not signed in',
  'session.end': () => 'signed out',
  'session.end-all': (row) => `ended the sessions of ${row.target()}`,
  'identity.link': (row) => `linked ${row.target()} with ${row.text(row.after.issuer)}`,
  'token.create': (row) => `made the token ${row.text(row.after.name)}${row.ofAccount()}`,
  'token.revoke': (row) => `revoked the token ${row.text(row.before.name)}${row.ofAccount()}`,
  'permission.refuse': (row) => `was refused ${row.entry.target}`,
} as const satisfies Record<string, Sentence>;

export type AuditedAction = keyof typeof SENTENCES;

/** Every action of the journals of billing, the catalog, payments and the panel. */
export const AUDITED_ACTIONS = Object.keys(SENTENCES) as readonly AuditedAction[];

/** Fields that say what a budget is of. They never change. */
export const BUDGET_PLACE = ['period', 'projectId', 'keyId', 'dimension', 'value'] as const;

const ID_SHOWN = '0190a6f0-7c1e'.length;
const PERIODS: Readonly<Record<string, string>> = { day: 'daily', week: 'weekly', month: 'monthly', total: 'total' };
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;
const LABELS: Readonly<Record<string, string>> = {
  requestsPerMinuteMax: 'requests per minute',
  tokensPerMinuteMax: 'tokens per minute',
  concurrencyMax: 'concurrent requests',
  projectsMax: 'most projects',
  activeKeysMax: 'most active keys',
  expiresAt: 'end',
};

/** Reads the fields of an entry, of whatever type they are. */
class Row {
  readonly before: Readonly<Record<string, unknown>>;
  readonly after: Readonly<Record<string, unknown>>;
  /** Part of the target after its kind. */
  readonly id: string;
  readonly isDebit: boolean;
  /** Amount of a movement, without its sign. Undefined: the entry has none. */
  readonly amount: string | undefined;
  private readonly kind: string;

  constructor(
    readonly entry: Entry,
    private readonly words: AuditWords,
  ) {
    this.before = entry.before ?? {};
    this.after = entry.after ?? {};
    const [, kind = '', id = ''] = /^([^/]*)\/?(.*)$/s.exec(entry.target) ?? [];
    this.kind = kind;
    this.id = id || kind;
    const { amountPicoUsd: amount } = this.after;
    const isAmount = typeof amount === 'string' && /^-?\d+$/.test(amount);
    this.isDebit = isAmount && amount.startsWith('-');
    this.amount = isAmount ? words.usd(BigInt(amount.replace('-', ''))) : undefined;
  }

  /** Renders the changed thing: `project web`. */
  target(): string {
    return this.thing(this.kind, this.id, this.after.name ?? this.before.name);
  }

  account(): string {
    return this.entry.accountId === null ? 'an account' : this.thing('account', this.entry.accountId);
  }

  ofAccount(preposition = ' of'): string {
    return this.entry.accountId === null ? '' : `${preposition} ${this.account()}`;
  }

  of(kind: string, id: unknown): string {
    return typeof id === 'string' ? ` of ${this.thing(kind, id)}` : '';
  }

  /** Name of the target, where it is known. */
  known(): string | undefined {
    return this.words.name(this.kind, this.id);
  }

  /** Renders `daily budget of $5 on project web`, with what is between. */
  budget({ period, projectId, keyId, dimension, value }: Readonly<Record<string, unknown>>, between: string): string {
    const project = typeof projectId === 'string' ? this.thing('project', projectId) : this.account();
    const target = typeof keyId === 'string' ? this.thing('key', keyId) : project;
    const tag = typeof dimension === 'string' ? dimension.replace('tag:', '') : undefined;
    const part = tag === undefined ? '' : typeof value === 'string' ? `${tag}=${value} of ` : `each ${tag} of `;
    return `${PERIODS[String(period)] ?? this.text(period)} budget${between} ${part}${target}`;
  }

  limit({ limitPicoUsd, limitTokens }: Readonly<Record<string, unknown>>): string | undefined {
    if (limitTokens !== undefined) return `${this.text(limitTokens)} tokens`;
    return limitPicoUsd === undefined ? undefined : this.value('limitPicoUsd', limitPicoUsd);
  }

  reference(): string {
    return typeof this.after.reference === 'string' ? ` (${this.after.reference})` : '';
  }

  until(time: unknown): string {
    return typeof time === 'string' ? ` until ${this.text(time)}` : '';
  }

  person(email: unknown): string {
    return typeof email === 'string' ? email : 'a person';
  }

  /** Renders what a revision of the catalog changed: `: 2 models added, 1 model repriced`. */
  entries(): string {
    const counts = Object.entries({ models: 'model', upstreams: 'upstream', pricePlans: 'price plan' }).flatMap(([field, noun]) => {
      const changes = this.after[field];
      if (typeof changes !== 'object' || changes === null) return [];
      return Object.entries(changes).map(([verb, ids]) => [ids, noun, verb] as const);
    });
    const parts = [...counts, [this.after.repriced, 'model', 'repriced'] as const].flatMap(([ids, noun, verb]) =>
      Array.isArray(ids) && ids.length > 0 ? [`${ids.length} ${noun}${ids.length === 1 ? '' : 's'} ${verb}`] : [],
    );
    return parts.length === 0 ? '' : `: ${parts.join(', ')}`;
  }

  /** Appends the fields that differ, except those that the sentence has. */
  changed(sentence: string, ...told: string[]): string {
    const changes = this.changes(...told);
    return changes === '' ? sentence : `${sentence}: ${changes}`;
  }

  /** Renders `requests per minute 600 → 1200, credit line none → $500`. Fields of a new or removed row have one value. */
  changes(...told: string[]): string {
    const fields = [...new Set([...Object.keys(this.after), ...Object.keys(this.before)])].filter((field) => !told.includes(field));
    return fields
      .map((field) => {
        const values = [this.before, this.after].filter((side) => field in side).map((side) => this.value(field, side[field]));
        return `${label(field)} ${values.join(' → ')}`;
      })
      .join(', ');
  }

  value(field: string, value: unknown): string {
    if (LISTS_THAT_LIMIT.includes(field) && Array.isArray(value) && value.length === 0) return 'all';
    const isAmount = field.endsWith('PicoUsd') && typeof value === 'string' && /^-?\d+$/.test(value);
    return isAmount ? this.words.usd(BigInt(value)) : this.text(value);
  }

  text(value: unknown): string {
    if (value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)) return 'none';
    if (typeof value === 'boolean') return value ? 'yes' : 'no';
    if (Array.isArray(value)) return value.map((one) => this.text(one)).join(', ');
    if (typeof value === 'string' && TIME.test(value)) return this.words.time(value);
    return typeof value === 'object' ? JSON.stringify(value) : String(value);
  }

  private thing(kind: string, id: string, ownName?: unknown): string {
    const known = this.words.name(kind, id) ?? (typeof ownName === 'string' && ownName !== '' ? ownName : undefined);
    const name = known ?? (/^[0-9a-f-]{36}$/.test(id) ? id.slice(0, ID_SHOWN) : id);
    const text = kind === 'user' && known !== undefined ? known : `${kind} ${name}`;
    return this.words.link?.(text, kind, id) ?? text;
  }
}

/** Fields of keys that allow all while they are empty. */
const LISTS_THAT_LIMIT = ['models', 'networks'];

/** Renders `creditLinePicoUsd` as `credit line`. */
function label(field: string): string {
  const words = field.replace(/PicoUsd$/, '').replace(/[A-Z]/g, (capital) => ` ${capital.toLowerCase()}`);
  return LABELS[field] ?? words;
}
