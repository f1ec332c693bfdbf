import { hashLeaf, joinRoots, makePaths } from '../src/merkle-tree.js';
import { digestLine, type PublishedKeys } from '../src/published-keys.js';
import {
  type AccountLine,
  FORMAT,
  type MonthLine,
  type PathLine,
  type ReceiptLine,
  renderLine,
  type SignatureLine,
} from '../src/receipt-lines.js';
import { SigningKey } from '../src/signing-key.js';

/** Returns an id with a number as its end. */
export function makeId(number: number): string {
  return `0190a6f0-7c1e-7000-8000-${number.toString(16).padStart(12, '0')}`;
}

export function makeReceipt(accountId: string, number: number, fields: Partial<ReceiptLine> = {}): ReceiptLine {
  return {
    type: 'receipt',
    kind: 'settlement',
    request_id: `req_${number}`,
    hold_id: makeId(number),
    account_id: accountId,
    project_id: makeId(1),
    key_id: makeId(2),
    settled_at: `2027-01-${String(1 + (Math.floor(number / 1_000_000) % 28)).padStart(2, '0')}T00:00:00.${String(number % 1_000_000).padStart(6, '0')}Z`,
    model: 'sim-fast',
    ending: 'completed',
    prompt_tokens: number % 1_000,
    cached_tokens: 0,
    output_tokens: 7,
    reasoning_tokens: 0,
    price_version: 1,
    price: { input_pico_usd: '150000', cached_input_pico_usd: '15000', output_pico_usd: '600000' },
    amount_pico_usd: String((number % 1_000) * 150_000 + 7 * 600_000),
    ...fields,
  };
}

interface Account {
  accountId: string;
  receipts: readonly ReceiptLine[];
  /** Differs from the sums of the receipts where an installation lies. */
  sums?: Partial<AccountLine>;
}

/** Signs months as billing does, of any receipts. */
export class TestInstallation {
  private readonly months: PublishedKeys['months'] = [];

  constructor(
    readonly id = makeId(0xfff),
    private readonly key = new SigningKey('7'.repeat(64)),
  ) {}

  get published(): PublishedKeys {
    return {
      installation: this.id,
      keys: [{ id: this.key.id, ed25519: this.key.publicKey, since: '2027-01-01T00:00:00.000Z' }],
      months: this.months,
    };
  }

  /** Closes a month, and returns how the files of its accounts are made. */
  close(
    month: string,
    accounts: readonly Account[],
    { published = true } = {},
  ): { whole(accountId: string): string[]; single(accountId: string, index: number): string[] } {
    const sealed = accounts
      .map(({ accountId, receipts, sums }) => {
        const lines = receipts.map(renderLine);
        const leaves = lines.map(hashLeaf);
        const late = receipts.filter(({ kind }) => kind === 'late-settlement').length;
        const account: AccountLine = {
          type: 'account',
          account_id: accountId,
          month,
          requests: String(receipts.length - late),
          late_settlements: String(late),
          cost_pico_usd: String(receipts.reduce((sum, { amount_pico_usd }) => sum + BigInt(amount_pico_usd), 0n)),
          root: joinRoots(leaves).toString('hex'),
          ...sums,
        };
        return { accountId, lines, leaves, account: renderLine(account) };
      })
      .sort((one, other) => (one.accountId < other.accountId ? -1 : 1));
    const accountLeaves = sealed.map(({ account }) => hashLeaf(account));
    const before = this.months.at(-1)?.line;
    const line = renderLine<MonthLine>({
      ...{ type: 'month', format: FORMAT, installation: this.id, month, digest: digestLine(month) },
      before: before === undefined ? '' : digestLine(before),
      root: joinRoots(accountLeaves).toString('hex'),
    });
    const signature = { key: this.key.id, ed25519: this.key.sign(line) };
    if (published) this.months.push({ month, line, signatures: [signature] });
    const paths = makePaths(accountLeaves);
    const find = (accountId: string) => {
      const index = sealed.findIndex((one) => one.accountId === accountId);
      const account = sealed[index] as (typeof sealed)[number];
      const path = renderLine<PathLine>({ type: 'path', steps: paths[index] ?? [] });
      return { ...account, head: [line, renderLine<SignatureLine>({ type: 'signature', ...signature }), account.account, path] };
    };
    return {
      whole(accountId) {
        const { head, lines } = find(accountId);
        return [...head, ...lines];
      },
      single(accountId, index) {
        const { head, lines, leaves } = find(accountId);
        return [...head, lines[index] ?? '', renderLine<PathLine>({ type: 'path', steps: makePaths(leaves)[index] ?? [] })];
      },
    };
  }
}
