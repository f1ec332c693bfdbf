import { type AuditCheckReply, catalogAuditCheck, panelAuditCheck } from '#contracts/audit.js';
import { type LedgerCheckReply, ledgerCheck } from '#contracts/billing/ledger.js';
import type { CliCommand } from '../command.js';
import { flag } from '../parameters.js';
import { renderTable } from '../render.js';

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
];

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
