import { extractText } from 'unpdf';
import { accountList, accountUpdate } from '#contracts/billing/accounts.js';
import { creditNoteCreate } from '#contracts/billing/money.js';
import { movementList } from '#contracts/billing/movements.js';
import { usageQuery } from '#contracts/billing/usage.js';
import { PanelFixture } from '../../test/panel-fixture.js';

const ACME = '0190a6f0-7c1e-7000-8000-00000000000a';
const OTHER = '0190a6f0-7c1e-7000-8000-00000000000f';
/** A moment of the closed month of the tests. */
const MONTH = '2026-01-10T00:00:00.000Z';

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
