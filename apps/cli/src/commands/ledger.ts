import { type AuditCheckReply, catalogAuditCheck, panelAuditCheck } from '#contracts/audit.js';
import { type LedgerCheckReply, type LedgerLossesReply, ledgerCheck, ledgerLosses } from '#contracts/billing/ledger.js';
import { type CliCommand, command } from '../command.js';
import { flag } from '../parameters.js';
import { renderDollars, renderTable } from '../render.js';
import { readRange, TIME_RANGE } from '../time-range.js';

const CHECK_MS = 600_000;
/** A full check reads every row of the journals. */
const FULL_CHECK_MS = 3_600_000;

/** Asks billing for the ledger and its audit journal, and the catalog and the panel for theirs. */
export const ledgerCommands: readonly CliCommand[] = [
  {
    name: 'ledger check',
    summary: 'Check every invariant of the ledger and all audit journals, also under traffic; exit code 1 on a violation',
    parameters: { full: flag('read closed months again, row by row') },
    examples: ['ledger check', 'ledger check --full --json'],
    async run({ full }, json, connect) {
      const messaging = await connect();
      // A service that is away must not hide the answer of billing.
      const check = (endpoint: typeof catalogAuditCheck): Promise<JournalCheck> =>
        messaging.request(endpoint, {}, { timeoutMs: CHECK_MS }).catch((error: Error) => ({ notChecked: error.message }));
      const catalogAudit = await check(catalogAuditCheck);
      const panelAudit = await check(panelAuditCheck);
      const ledger = await messaging.request(ledgerCheck, full ? { full: true } : {}, { timeoutMs: full ? FULL_CHECK_MS : CHECK_MS });
      const failed = ledger.violations.length > 0 || !isSound(catalogAudit) || !isSound(panelAudit);
      const text = json
        ? JSON.stringify({ ...ledger, catalogAudit, panelAudit }, null, 2)
        : [renderCheck(ledger), renderJournal('catalog', catalogAudit), renderJournal('panel', panelAudit)].join('\n\n');
      return { text, failed };
    },
  },
  command({
    name: 'ledger losses',
    summary: 'Show usage that no customer paid: beyond holds and written off, by day, model, upstream and end of the request',
    parameters: TIME_RANGE,
    examples: ['ledger losses', 'ledger losses --from 2027-01-01 --to 2027-02-01 --json'],
    endpoint: ledgerLosses,
    request: readRange,
    render: renderLosses,
    timeoutMs: 30_000,
  }),
];

function renderLosses({ rows, rowCount, total }: LedgerLossesReply): string {
  const table = renderTable(rows, 'no losses', {
    DAY: ({ day }) => day,
    MODEL: ({ model }) => model,
    UPSTREAM: ({ upstream }) => upstream,
    ENDING: ({ reason }) => reason,
    REQUESTS: ({ requests }) => requests,
    USAGE: ({ usagePicoUsd }) => renderDollars(usagePicoUsd),
    CHARGED: ({ chargedPicoUsd }) => renderDollars(chargedPicoUsd),
    'BEYOND HOLD': ({ overPicoUsd }) => renderDollars(overPicoUsd),
    'WRITTEN OFF': ({ writtenOffPicoUsd }) => renderDollars(writtenOffPicoUsd),
  });
  if (rowCount === 0) return table;
  const lost = `${renderDollars(total.overPicoUsd)} beyond holds, ${renderDollars(total.writtenOffPicoUsd)} written off`;
  const shown = rowCount > rows.length ? `; shown are the largest ${rows.length} of ${rowCount} rows` : '';
  return `${table}\n\n${total.requests} requests used ${renderDollars(total.usagePicoUsd)} and paid ${renderDollars(total.chargedPicoUsd)}: ${lost}${shown}`;
}

type JournalCheck = AuditCheckReply | { notChecked: string };

function isSound(check: JournalCheck): boolean {
  return !('notChecked' in check) && check.faults.length === 0;
}

function renderJournal(service: string, check: JournalCheck): string {
  if ('notChecked' in check) return `the audit journal of the ${service} was not checked: ${check.notChecked}`;
  const { entries, faults } = check;
  if (faults.length === 0) return `the audit journal of the ${service} is consistent: ${entries} entries`;
  return [`THE AUDIT JOURNAL OF THE ${service.toUpperCase()} IS INCONSISTENT`, ...faults].join('\n');
}

function renderCheck({ checkedAt, milliseconds, checked, invariants, violations }: LedgerCheckReply): string {
  const counts = [
    `${checked.accounts} accounts`,
    `${checked.projects} projects`,
    `${checked.grants} grants`,
    `${checked.movements} movements`,
    `${checked.openHolds} open holds`,
    `${checked.settlements} settlements`,
    `${checked.lateSettlements} late settlements`,
    `${checked.auditEntries} audit entries`,
  ];
  const found = invariants.reduce((sum, invariant) => sum + invariant.violations, 0);
  return [
    `checked ${counts.join(', ')} as of ${checkedAt} in ${milliseconds} ms`,
    renderTable(invariants, '', { ID: ({ id }) => id, VIOLATIONS: (row) => row.violations, RULE: ({ rule }) => rule }),
    found === 0 ? 'the ledger is consistent' : `THE LEDGER IS INCONSISTENT: ${found} ${found === 1 ? 'violation' : 'violations'}`,
    ...(found === 0
      ? []
      : [
          renderTable(violations, '', {
            INVARIANT: (row) => row.invariant,
            SUBJECT: (row) => row.subject,
            ACCOUNT: (row) => row.accountId,
          }),
        ]),
  ].join('\n\n');
}
