import { spawnSync } from 'node:child_process';
import { createReadStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { longOr } from '#testing/long-run.js';
import { makeId, makeReceipt, TestInstallation } from '../test/test-installation.js';
import { parsePublishedKeys } from './published-keys.js';
import { readLines } from './read-lines.js';
import { ReceiptFault } from './receipt-fault.js';
import { ReceiptVerifier } from './verify-receipts.js';

/** The verifiers of examples/verify-receipts, and the one of `tollgate verify`, say the same of each file. */

const [ACME, BETA] = [makeId(0xa), makeId(0xb)];
const folder = mkdtempSync(join(tmpdir(), 'tollgate-receipts-'));
afterAll(() => rmSync(folder, { recursive: true }));

const installation = new TestInstallation();
const receipts = Array.from({ length: 5 }, (_, index) =>
  makeReceipt(ACME, index, { model: index === 2 ? 'größer "fast" \u2028' : 'sim-fast' }),
);
const late = makeReceipt(ACME, 4, { kind: 'late-settlement', amount_pico_usd: '-5' });
const january = installation.close('2027-01', [
  { accountId: ACME, receipts: [...receipts, late] },
  { accountId: BETA, receipts: [makeReceipt(BETA, 9)] },
]);
const february = installation.close('2027-02', [{ accountId: ACME, receipts: receipts.slice(0, 2) }]);
const other = new TestInstallation(makeId(0xeee));
other.close('2027-01', [{ accountId: BETA, receipts: [makeReceipt(BETA, 9)] }]);

const hasPython = spawnSync('python3', ['--version']).status === 0;
const VERIFIERS: [name: string, command: string[]][] = [
  ['Node', [process.execPath, 'examples/verify-receipts/verify.mjs']],
  ...(hasPython ? [['Python', ['python3', 'examples/verify-receipts/verify.py']] as [string, string[]]] : []),
];

function run([program = '', ...args]: string[], bytes: Buffer | string, keys: object = installation.published) {
  const [file, keysFile] = [join(folder, 'receipts.jsonl'), join(folder, 'keys.json')];
  writeFileSync(file, bytes);
  writeFileSync(keysFile, JSON.stringify(keys));
  const { status, stdout, stderr } = spawnSync(program, [...args, file, keysFile], { encoding: 'utf8' });
  return { status, text: `${stdout}${stderr}` };
}

const renderFile = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');

async function check(bytes: Buffer | string, keys: object = installation.published): Promise<string> {
  try {
    const verifier = new ReceiptVerifier(parsePublishedKeys(JSON.stringify(keys)));
    for await (const lines of readLines([Buffer.from(bytes as string)])) for (const line of lines) verifier.add(line);
    verifier.finish();
    return 'valid';
  } catch (error) {
    if (!(error instanceof ReceiptFault)) throw error;
    return 'NOT VALID';
  }
}

const whole = january.whole(ACME);
const single = january.single(ACME, 2);
const flip = (text: string, at: number): Buffer => {
  const bytes = Buffer.from(text);
  bytes[at % bytes.length] = (bytes[at % bytes.length] as number) ^ 1;
  return bytes;
};

const FILES: [what: string, expected: 'valid' | 'NOT VALID', bytes: Buffer | string, keys?: object][] = [
  ['a whole month', 'valid', renderFile(whole)],
  ['one receipt', 'valid', renderFile(single)],
  ['several sections', 'valid', renderFile([...single, ...february.whole(ACME), ...january.whole(BETA)])],
  ['a receipt that was left out', 'NOT VALID', renderFile(whole.toSpliced(5, 1))],
  ['a receipt that stands twice', 'NOT VALID', renderFile(whole.toSpliced(5, 0, whole[5] as string))],
  ['a path that is gone', 'NOT VALID', renderFile(single.slice(0, -1))],
  ['a receipt of another tenant', 'NOT VALID', renderFile(whole.with(5, january.whole(BETA)[4] as string))],
  ['a file that was cut off', 'NOT VALID', renderFile(whole).slice(0, -1)],
  ['a byte of a receipt', 'NOT VALID', flip(renderFile(whole), renderFile(whole.slice(0, 6)).length + 40)],
  ['a byte of the signature', 'NOT VALID', flip(renderFile(whole), renderFile(whole.slice(0, 2)).length - 10)],
  ['a byte of a path', 'NOT VALID', flip(renderFile(single), renderFile(single).length - 10)],
  ['the keys of another installation', 'NOT VALID', renderFile(whole), other.published],
  [
    'a month that was closed twice',
    'NOT VALID',
    renderFile(whole),
    {
      ...installation.published,
      months: [
        {
          ...installation.published.months[0],
          line: installation.published.months[0]?.line.replace(/"root":"."?/, '"root":"0'),
          signatures: [],
        },
      ],
    },
  ],
  ['nothing', 'NOT VALID', ''],
];

describe.each(VERIFIERS)('the verifier in %s', (_, command) => {
  test.each(FILES)('%s: %s', async (_, expected, bytes, keys = installation.published) => {
    const { status, text } = run(command, bytes, keys);
    expect(text).toMatch(expected === 'valid' ? /^valid: / : /NOT VALID: /);
    expect(text).not.toContain('Traceback');
    expect(status).toBe(expected === 'valid' ? 0 : 1);
    expect(await check(bytes, keys)).toBe(expected);
  });
});

test('a month of many receipts is verified as a stream', async () => {
  const count = longOr(5_000, 100_000);
  const many = new TestInstallation();
  const month = many.close('2027-01', [
    { accountId: ACME, receipts: Array.from({ length: count }, (_, number) => makeReceipt(ACME, number)) },
  ]);
  const file = join(folder, 'many.jsonl');
  writeFileSync(file, renderFile(month.whole(ACME)));
  const start = performance.now();
  const verifier = new ReceiptVerifier(many.published);
  for await (const lines of readLines(createReadStream(file))) for (const line of lines) verifier.add(line);
  expect(verifier.finish()).toMatchObject([{ receipts: count, isWhole: true }]);
  expect(performance.now() - start).toBeLessThan(10_000);
  for (const [, command] of longOr<typeof VERIFIERS>([], VERIFIERS)) {
    const begun = performance.now();
    expect(run(command, readFileSync(file), many.published).text).toContain(`all ${count} receipts`);
    expect(performance.now() - begun).toBeLessThan(10_000);
  }
}, 60_000);
