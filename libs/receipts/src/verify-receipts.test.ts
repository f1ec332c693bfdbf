import fc from 'fast-check';
import { longOr, testCases } from '#testing/long-run.js';
import { makeId, makeReceipt, TestInstallation } from '../test/test-installation.js';
import { type PublishedKeys, parsePublishedKeys } from './published-keys.js';
import { ReceiptFault } from './receipt-fault.js';
import type { ReceiptLine } from './receipt-lines.js';
import { SigningKey } from './signing-key.js';
import { ReceiptVerifier, type VerifiedMonth } from './verify-receipts.js';

const [ACME, BETA, GAMMA] = [makeId(0xa), makeId(0xb), makeId(0xc)];
const MONTH = '2027-01';

function verify(lines: readonly (string | Buffer)[], published: PublishedKeys): VerifiedMonth[] {
  const verifier = new ReceiptVerifier(published);
  for (const line of lines) verifier.add(Buffer.from(line as string));
  return verifier.finish();
}

/** Returns the fault of a file; undefined when it is accepted. */
function faultIn(lines: readonly (string | Buffer)[], published: PublishedKeys): string | undefined {
  try {
    verify(lines, published);
    return undefined;
  } catch (error) {
    if (!(error instanceof ReceiptFault)) throw error;
    return error.message;
  }
}

const receiptsFor = (accountId: string, count: number): ReceiptLine[] =>
  Array.from({ length: count }, (_, index) => {
    const number = 10 * index + Number.parseInt(accountId.slice(-2), 16);
    return index % 5 === 4
      ? makeReceipt(accountId, number, { kind: 'late-settlement', amount_pico_usd: '-1000' })
      : makeReceipt(accountId, number);
  });

function closed(counts: readonly [number, number, number] = [7, 3, 1]) {
  const installation = new TestInstallation();
  const accounts = [ACME, BETA, GAMMA].map((accountId, index) => ({
    accountId,
    receipts: receiptsFor(accountId, counts[index] as number),
  }));
  return { installation, accounts, month: installation.close(MONTH, accounts) };
}

test('a whole month and a single receipt are accepted, and say what they prove', () => {
  const { installation, month } = closed();
  const [whole] = verify(month.whole(ACME), installation.published);
  const sum = receiptsFor(ACME, 7).reduce((total, { amount_pico_usd }) => total + BigInt(amount_pico_usd), 0n);
  expect(whole).toMatchObject({
    month: MONTH,
    accountId: ACME,
    installation: installation.id,
    receipts: 7,
    isWhole: true,
    isPublished: true,
  });
  expect(whole).toMatchObject({ requests: 6n, lateSettlements: 1n, costPicoUsd: sum, amountPicoUsd: sum });
  const [single] = verify(month.single(ACME, 2), installation.published);
  expect(single).toMatchObject({
    receipts: 1,
    isWhole: false,
    costPicoUsd: sum,
    amountPicoUsd: BigInt(receiptsFor(ACME, 7)[2]?.amount_pico_usd ?? 0),
  });
  expect(verify([...month.single(ACME, 0), ...month.single(ACME, 4).slice(4), ...month.whole(BETA)], installation.published)).toMatchObject(
    [
      { accountId: ACME, receipts: 2, isWhole: false },
      { accountId: BETA, receipts: 3, isWhole: true },
    ],
  );
});

describe('tampering', () => {
  const { installation, month } = closed();
  const files = { whole: month.whole(ACME), single: month.single(ACME, 4) };

  test.each(['whole', 'single'] as const)('no byte of a file of one %s can change', (name) => {
    const lines = files[name].map((line) => Buffer.from(line));
    const total = lines.reduce((sum, line) => sum + line.length, 0);
    const starts = lines.map((_, index) => lines.slice(0, index).reduce((sum, line) => sum + line.length, 0));
    const accepted: string[] = [];
    // Every byte with one flipped bit in the long run; a third of them, of all kinds of lines, otherwise.
    for (let at = 0; at < total; at += longOr(3, 1)) {
      for (const bit of longOr([at % 8], [0, 1, 2, 3, 4, 5, 6, 7])) {
        const changed = lines.map((line) => Buffer.from(line));
        const index = starts.findLastIndex((start) => start <= at);
        const line = changed[index] as Buffer;
        const byte = at - (starts[index] as number);
        line[byte] = (line[byte] as number) ^ (1 << bit);
        if (faultIn(changed, installation.published) === undefined) accepted.push(`byte ${at}, bit ${bit}`);
      }
    }
    expect(accepted).toEqual([]);
  });

  testCases(
    'no line can be removed, added twice or moved, in files of random size',
    { usual: 40, long: 1_000 },
    // The path of an only receipt is empty: without it the file is that of a whole month.
    fc.tuple(fc.integer({ min: 2, max: 20 }), fc.integer({ min: 1, max: 5 }), fc.nat(), fc.nat()),
    ([count, otherCount, one, other]) => {
      const { installation, month } = closed([count, otherCount, 2]);
      for (const lines of [month.whole(ACME), month.single(ACME, one % count)]) {
        const [from, to] = [one % lines.length, other % lines.length];
        const moved = lines.toSpliced(from, 1).toSpliced(to, 0, lines[from] as string);
        expect(faultIn(lines, installation.published)).toBeUndefined();
        expect(faultIn(lines.toSpliced(from, 1), installation.published)).toBeDefined();
        expect(faultIn(lines.toSpliced(to, 0, lines[from] as string), installation.published)).toBeDefined();
        if (from !== to) expect(faultIn(moved, installation.published)).toBeDefined();
      }
    },
  );

  const changeReceipt = (fields: Partial<ReceiptLine>) => {
    const [line = '{}'] = files.single.slice(4);
    return files.single.with(4, JSON.stringify({ ...(JSON.parse(line) as ReceiptLine), ...fields }));
  };
  const other = new TestInstallation(installation.id, new SigningKey('8'.repeat(64)));
  const forged = other.close(MONTH, [{ accountId: ACME, receipts: receiptsFor(ACME, 2) }]);
  const liar = new TestInstallation();
  const lies = (receipts: readonly ReceiptLine[], sums: object) => liar.close(MONTH, [{ accountId: ACME, receipts, sums }]).whole(ACME);
  const UNPUBLISHED = { ...liar.published, months: [] };
  const receipts = receiptsFor(ACME, 6);
  const cost = receipts.reduce((sum, { amount_pico_usd }) => sum + BigInt(amount_pico_usd), 0n);

  test.each<[what: string, lines: readonly string[], fault: RegExp, published?: PublishedKeys]>([
    ['another amount', changeReceipt({ amount_pico_usd: '-999' }), /not among those of its account/],
    ['another time', changeReceipt({ settled_at: '2027-01-02T00:00:00.000000Z' }), /not among those of its account/],
    ['tokens that were added', changeReceipt({ prompt_tokens: 1 }), /not among those of its account/],
    ['the account of another tenant', changeReceipt({ account_id: BETA }), /another account/],
    ['a receipt of another tenant', files.whole.with(5, month.whole(BETA)[4] as string), /another account/],
    ['a settlement that was left out', files.whole.toSpliced(6, 1), /has 6 receipts of 2027-01, its account has 7/],
    ['a settlement that stands twice', files.whole.toSpliced(6, 0, files.whole[6] as string), /twice, or out of order/],
    ['the account line of another tenant', files.single.with(2, month.single(BETA, 0)[2] as string), /not in the signed month/],
    ['a month that another key signed', forged.whole(ACME), /closed twice/],
    ['a signature by another key', files.whole.with(1, forged.whole(ACME)[1] as string), /not among the published keys/],
    [
      'a signature of nothing',
      files.whole.with(1, (files.whole[1] as string).replace(/[0-9a-f]{128}/, '0'.repeat(128))),
      /signature is wrong/,
    ],
    ['capital digits in a path', files.single.with(5, (files.single[5] as string).toUpperCase()), /no line of a file/],
    ['spaces in a line', files.single.with(5, (files.single[5] as string).replace(':', ': ')), /another form/],
    ['an empty file', [], /no receipts/],
    [
      'a count that is too low',
      lies(receipts, { requests: '4' }),
      /has 6 receipts of 2027-01, its account has 5|counts other receipts/,
      UNPUBLISHED,
    ],
    ['a cost that is too high', lies(receipts, { cost_pico_usd: String(cost + 1n) }), /add up to/, UNPUBLISHED],
  ])('%s is found', (_, lines, fault, published = installation.published) => {
    expect(faultIn(lines, published)).toMatch(fault);
  });

  test('a month that was closed twice is found, in the published keys and between two files', () => {
    const first = closed();
    const again = first.installation.close(MONTH, [{ accountId: ACME, receipts: receiptsFor(ACME, 6) }], { published: false });
    expect(faultIn(again.whole(ACME), first.installation.published)).toMatch(/Line 1: 2027-01 was closed twice/);
    const unpublished = { ...first.installation.published, months: [] };
    expect(faultIn(again.whole(ACME), unpublished)).toBeUndefined();
    expect(faultIn([...first.month.whole(BETA), ...again.whole(ACME)], unpublished)).toMatch(/closed twice/);
  });
});

describe('published keys', () => {
  const { installation } = closed();
  installation.close('2027-02', [{ accountId: ACME, receipts: receiptsFor(ACME, 2) }]);
  const { published } = installation;
  const parse = (keys: object) => () => parsePublishedKeys(JSON.stringify({ ...published, ...keys }));

  test('are accepted when each month is signed and follows the one before', () => {
    expect(parse({})()).toEqual(published);
  });

  test.each<[what: string, keys: object, fault: RegExp]>([
    ['no object', { keys: 'x' }, /no file of published keys/],
    ['a key under another id', { keys: published.keys.map((key) => ({ ...key, id: '0'.repeat(16) })) }, /not what its id says/],
    ['a month that is gone', { months: published.months.slice(1) }, /^$/],
    ['a month twice', { months: [published.months[0], published.months[0]] }, /published twice/],
    [
      'months that do not follow',
      { months: [published.months[1], published.months[1]?.month ? { ...published.months[0], month: '2027-03' } : null] },
      /another month/,
    ],
    [
      'a signature of another month',
      { months: published.months.map((month, index) => ({ ...month, signatures: published.months[1 - index]?.signatures })) },
      /signature is wrong/,
    ],
  ])('%s is found', (what, keys, fault) => {
    // The first month that is published says what was before it; an installation that publishes its later months alone is no fault.
    if (what === 'a month that is gone') expect(parse(keys)).not.toThrow();
    else expect(parse(keys)).toThrow(fault);
  });
});
