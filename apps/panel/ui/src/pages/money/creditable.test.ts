import { findCreditable } from './creditable.js';

const settlement = (costPicoUsd: string, more: object = {}) => ({ reason: 'completed', reaped: null, costPicoUsd, ...more }) as never;
const note = (amountPicoUsd: string) => ({ noteId: 'cn-1', amountPicoUsd, reason: 'slow', createdAt: '2027-01-01T00:00:00.000Z' });

test.each([
  ['the whole cost', '100', [], { cost: 100n, givenBack: 0n, left: 100n }],
  ['what earlier notes left', '100', ['30', '20'], { cost: 100n, givenBack: 50n, left: 50n }],
  ['nothing twice', '100', ['100'], { cost: 100n, givenBack: 100n, left: 0n, refusal: 'All of its cost was given back before.' }],
  ['nothing of what was free', '0', [], { cost: 0n, givenBack: 0n, left: 0n, refusal: 'The request cost nothing.' }],
])('a request gives back %s', (_, cost, notes, creditable) => {
  expect(findCreditable({ settlement: settlement(cost), creditNotes: notes.map(note) })).toEqual(creditable);
});

test('a running request gives back nothing', () => {
  const creditable = findCreditable({ settlement: null, creditNotes: [] });
  expect(creditable).toEqual({ cost: 0n, givenBack: 0n, left: 0n, refusal: 'The request still runs: nothing is charged yet.' });
});

test('the bill of the reaper gives back nothing until it is corrected', () => {
  const [bill, corrected] = [{ reason: 'lease-expired' }, { reason: 'lease-expired', reaped: {} }].map((more) =>
    findCreditable({ settlement: settlement('100', more), creditNotes: [] }),
  );
  expect([bill?.refusal, corrected]).toEqual([expect.stringMatching(/adjustment/), { cost: 100n, givenBack: 0n, left: 100n }]);
});
