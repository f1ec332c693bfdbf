import { extractText } from 'unpdf';
import { accountList, accountUpdate } from '#contracts/billing/accounts.js';
import { creditNoteCreate } from '#contracts/billing/money.js';
import { movementList } from '#contracts/billing/movements.js';
import { receiptList, receiptMonth, receiptShow } from '#contracts/billing/receipts.js';
import { requestShow } from '#contracts/billing/requests.js';
import { usageQuery } from '#contracts/billing/usage.js';
import { ServiceError } from '#contracts/service-error.js';
import { PanelFixture } from '../../test/panel-fixture.js';

const ACME = '0190a6f0-7c1e-7000-8000-00000000000a';
const OTHER = '0190a6f0-7c1e-7000-8000-00000000000f';
/** A moment of the closed month of the tests. */
const MONTH = '2026-01-10T00:00:00.000Z';

const RECEIPTS = { requests: 2, lateSettlements: 0, costPicoUsd: '0', root: 'ab'.repeat(32), digest: 'cd'.repeat(32) };

/** Messages that billing got. */
let asked: object[];

const panel = await PanelFixture.open();
const admin = await panel.person('admin');
const finance = await panel.person('finance', ACME);
afterAll(() => panel.close());
beforeEach(() => {
  asked = [];
  const keep = (reply: object) => (message: object) => {
    asked.push(message);
    return reply as never;
  };
  const account = { accountId: ACME, name: 'Acme', createdAt: MONTH };
  panel.messaging.answer(accountList, () => ({ accounts: [account], nextCursor: null }) as never);
  panel.messaging.answer(usageQuery, () => ({ rows: [], nextCursor: null }) as never);
  const topup = { movementId: ACME, kind: 'topup', amountPicoUsd: '7500000000000', reference: 'inv-1', reason: null, createdAt: MONTH };
  panel.messaging.answer(movementList, () => ({ movements: [topup], nextCursor: null }) as never);
  panel.messaging.answer(receiptMonth, ({ month }) => ({ receipts: month === '2026-01' ? RECEIPTS : null }));
  panel.messaging.answer(creditNoteCreate, keep({ accountId: ACME, credited: true, amountPicoUsd: '1', topupBalancePicoUsd: '1' }));
  panel.messaging.answer(accountUpdate, keep({ accountId: ACME, name: 'Acme', lowBalancePicoUsd: '5000000000000' }));
});

test('a credit note is for a request of the account in the path, whatever the body says', async () => {
  const body = { accountId: OTHER, requestId: 'req_1', noteId: 'cn-1', usd: '0.5', reason: 'slow' };
  const reply = await panel.send(`/accounts/${ACME.toUpperCase()}/credit-notes`, { method: 'POST', cookie: admin.cookie, body });
  expect([reply.status, asked]).toEqual([200, [{ ...body, accountId: ACME }]]);
});

test('people of an account set its low balance, and nothing else of it', async () => {
  const set = (body: object) => panel.send(`/accounts/${ACME}/low-balance`, { method: 'PUT', cookie: finance.cookie, body });
  const done = await set({ lowBalanceUsd: '5' });
  expect([done.status, done.body.lowBalancePicoUsd, asked]).toEqual([200, '5000000000000', [{ accountId: ACME, lowBalanceUsd: '5' }]]);
  expect((await set({})).body.error).toMatchObject({ code: 'invalid_request', param: 'lowBalanceUsd' });
  await set({ lowBalanceUsd: '5', creditLineUsd: '1000' });
  expect(asked.slice(1)).not.toContainEqual(expect.objectContaining({ creditLineUsd: '1000' }));
});

test('a closed month is a PDF with its name, of the whole account; a running one is refused', async () => {
  const reply = await panel.send(`/accounts/${ACME}/statements/2026-01.pdf`, { cookie: finance.cookie });
  expect([reply.status, reply.headers['content-type'], reply.headers['content-disposition']]).toEqual([
    200,
    'application/pdf',
    'attachment; filename=statement-2026-01.pdf',
  ]);
  const { text, totalPages } = await extractText(new Uint8Array(reply.body), { mergePages: true });
  expect([totalPages, text.includes('Acme'), text.replace(/\s+/g, ' ').includes('Closing balance at the end 7.50')]).toEqual([
    1,
    true,
    true,
  ]);
  const running = await panel.send(`/accounts/${ACME}/statements/${new Date().toISOString().slice(0, 7)}.pdf`, { cookie: finance.cookie });
  expect([running.status, running.body.error.param]).toEqual([400, 'month']);
});

describe('receipts', () => {
  const get = (path: string, cookie = finance.cookie) => panel.send(path, { cookie });
  /** Reads a file of a type whose body the client of `send` drops. */
  const read = async (path: string) => {
    const reply = await fetch(`${await panel.app.getUrl()}/panel/v1${path}`, { headers: { cookie: finance.cookie } });
    return [reply.status, reply.headers.get('content-type'), reply.headers.get('content-disposition'), await reply.text()];
  };

  test('the statement of a closed month carries the root, as JSON, CSV and PDF', async () => {
    expect((await get(`/accounts/${ACME}/statements/2026-01`)).body.receipts).toEqual(RECEIPTS);
    expect((await get(`/accounts/${ACME}/statements/2026-02`)).body.receipts).toBeNull();
    expect((await get(`/accounts/${ACME}/statements/2026-01.csv`)).text).toContain(
      `closing,${RECEIPTS.root},"Root of the receipts of this month"`,
    );
    const { text } = await extractText(new Uint8Array((await get(`/accounts/${ACME}/statements/2026-01.pdf`)).body), { mergePages: true });
    expect(text.replace(/\s+/g, ' ')).toContain(`Root of the receipts ${RECEIPTS.root}`);
  });

  test('all of a month are one file, page by page', async () => {
    panel.messaging.answer(receiptList, ({ cursor }) =>
      cursor ? { lines: 'b\n', nextCursor: null } : { lines: 'a\n', nextCursor: 'next' },
    );
    expect(await read(`/accounts/${ACME}/receipts/2026-01.jsonl`)).toEqual([
      ...[200, 'application/jsonl', 'attachment; filename="receipts-2026-01.jsonl"', 'a\nb\n'],
    ]);
    panel.messaging.answer(receiptList, () => {
      throw new ServiceError('not_found', 'The month is not closed.', 'month');
    });
    expect((await get(`/accounts/${ACME}/receipts/2026-01.jsonl`)).status).toBe(404);
  });

  test('that of a request is for people who may see the money of its account', async () => {
    const place = { requestId: 'req_1', accountId: ACME, projectId: OTHER, keyId: OTHER };
    panel.messaging.answer(requestShow, () => place as never);
    panel.messaging.answer(receiptShow, () => ({ ...place, months: ['2026-01'], file: 'a\n' }));
    expect(await read('/requests/req_1/receipt')).toEqual([
      ...[200, 'application/jsonl', 'attachment; filename="receipt-req_1.jsonl"', 'a\n'],
    ]);
    const developer = await panel.person('developer', ACME);
    expect((await get('/requests/req_1/receipt', developer.cookie)).status).toBe(403);
    const stranger = await panel.person('finance', OTHER);
    expect((await get('/requests/req_1/receipt', stranger.cookie)).status).toBe(404);
  });
});
