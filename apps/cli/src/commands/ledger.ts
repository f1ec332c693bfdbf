import { type LedgerCheckReply, ledgerCheck } from '#contracts/billing/ledger.js';
import { command } from '../command.js';
import { renderTable } from '../render.js';

export const ledgerCommands = [
  command({
    name: 'ledger check',
    summary: 'Check every invariant of the ledger in one snapshot, also under traffic; exit code 1 on a violation',
    parameters: {},
    examples: ['ledger check', 'ledger check --json'],
    endpoint: ledgerCheck,
    request: () => ({}),
    render: renderCheck,
    timeoutMs: 600_000,
    isFailure: ({ violations }) => violations.length > 0,
  }),
];

function renderCheck({ checkedAt, milliseconds, checked, invariants, violations }: LedgerCheckReply): string {
  const counts = [
    `${checked.accounts} accounts`,
    `${checked.projects} projects`,
    `${checked.grants} grants`,
    `${checked.movements} movements`,
    `${checked.openHolds} open holds`,
    `${checked.settlements} settlements`,
    `${checked.lateSettlements} late settlements`,
  ];
  const found = invariants.reduce((sum, invariant) => sum + invariant.violations, 0);
  return [
    `checked ${counts.join(', ')} as of ${checkedAt} in ${milliseconds} ms`,
    renderTable(invariants, { ID: ({ id }) => id, VIOLATIONS: (row) => row.violations, RULE: ({ rule }) => rule }, ''),
    found === 0 ? 'the ledger is consistent' : `THE LEDGER IS INCONSISTENT: ${found} ${found === 1 ? 'violation' : 'violations'}`,
    ...(found === 0
      ? []
      : [
          renderTable(
            violations,
            { INVARIANT: (row) => row.invariant, SUBJECT: (row) => row.subject, ACCOUNT: (row) => row.accountId },
            '',
          ),
        ]),
  ].join('\n\n');
}
