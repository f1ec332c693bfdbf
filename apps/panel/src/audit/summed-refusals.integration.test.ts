import { PanelFixture, type SignedIn } from '../../test/panel-fixture.js';
import { REFUSAL_ROWS_MAX, SummedRefusals } from './summed-refusals.js';

const MINUTE_MS = 60_000;
const START = Date.parse('2027-03-01T10:00:00Z');

let panel: PanelFixture;
beforeEach(async () => {
  panel = await PanelFixture.open();
});
afterEach(() => panel.close());

interface SumRow {
  actor: string;
  target: string;
  after: { count: number } | null;
}

/** Refusals in the journal, each with the number that its row stands for. */
async function recorded(action: string): Promise<SumRow[]> {
  return (await panel.journal(action)) as unknown as SumRow[];
}

const readCount = ({ after }: SumRow): number => after?.count ?? 1;

test('a person who is refused hundreds of times has a few rows in the journal, and their number is exact [sec-refusals-summed]', async () => {
  const viewer: SignedIn = await panel.person('viewer', '0198f000-0000-7000-8000-000000000001');
  const refused = async (path: string): Promise<number> => (await panel.send(path, { cookie: viewer.cookie })).status;
  const statuses: number[] = [];
  const paths = Array.from({ length: 500 }, (_, number) => (number % 2 ? '/ledger/checks' : '/upstreams'));
  for (let at = 0; at < paths.length; at += 20) statuses.push(...(await Promise.all(paths.slice(at, at + 20).map(refused))));
  await panel.app.get(SummedRefusals).onApplicationShutdown();
  const rows = await recorded('permission.refuse');
  expect(new Set(statuses)).toEqual(new Set([403]));
  expect(rows.reduce((sum, row) => sum + readCount(row), 0)).toBe(500);
  // The requests may take from one minute into another.
  const minutes = rows.filter(({ after }) => after !== null).length;
  expect(rows.length).toBeLessThanOrEqual(minutes * (REFUSAL_ROWS_MAX + 1));
  expect(minutes).toBeLessThan(5);
});

describe('refusals of a minute', () => {
  let now: number;
  let refusals: SummedRefusals;
  let summed: number;
  beforeEach(() => {
    now = START + 10_000;
    summed = 0;
    const counter = { inc: () => void summed++ };
    refusals = new SummedRefusals(panel.prisma, { info: () => undefined, warn: () => undefined } as never, counter, () => now);
  });

  const refuse = (by: string, target: string, times: number) =>
    Promise.all(
      Array.from({ length: times }, (_, number) =>
        refusals.record(
          { caller: { actor: by, actorName: `${by}'s name`, via: 'http', ip: '192.0.2.7', requestId: `req_${number}` } },
          { action: 'test.refuse', target, reason: 'no' },
          { by },
        ),
      ),
    );

  test('beyond the first ones of a sender have one row together, when the minute has ended', async () => {
    await refuse('user/a', 'GET /one', REFUSAL_ROWS_MAX + 5);
    await refuse('user/a', 'GET /two', 7);
    await refuse('user/b', 'GET /one', 2);
    await refusals.writeEnded();
    const early = await recorded('test.refuse');
    now = START + MINUTE_MS;
    await refusals.writeEnded();
    const rows = await recorded('test.refuse');
    expect([early.length, rows.length, summed]).toEqual([REFUSAL_ROWS_MAX + 2, REFUSAL_ROWS_MAX + 3, 12]);
    expect(rows.at(-1)).toEqual({
      ...{ actor: 'user/a', actorName: "user/a's name", via: 'http', accountId: null, action: 'test.refuse', before: null },
      ...{ target: '2 targets', reason: '12 further refusals in this minute' },
      after: { minute: '2027-03-01T10:00:00.000Z', count: 12, byTarget: { 'GET /two': 7, 'GET /one': 5 } },
    });
  });

  test('do not end those of the next one: it has rows and a sum of its own', async () => {
    await refuse('user/a', 'GET /one', REFUSAL_ROWS_MAX + 1);
    now = START + MINUTE_MS;
    await refuse('user/a', 'GET /one', REFUSAL_ROWS_MAX + 2);
    await refusals.onApplicationShutdown();
    expect((await recorded('test.refuse')).filter(({ after }) => after !== null).map(readCount)).toEqual([1, 2]);
  });

  test('are written after the database was away', async () => {
    await refuse('user/a', 'GET /one', REFUSAL_ROWS_MAX + 3);
    now = START + MINUTE_MS;
    await panel.sql.query('ALTER FUNCTION panel.record_audit RENAME TO record_audit_away');
    await refusals.writeEnded();
    await panel.sql.query('ALTER FUNCTION panel.record_audit_away RENAME TO record_audit');
    await refusals.writeEnded();
    expect((await recorded('test.refuse')).at(-1)).toMatchObject({ target: 'GET /one', after: { count: 3 } });
  });
});
