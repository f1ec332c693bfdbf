import { type AuditCheckReply, catalogAuditCheck } from '#contracts/audit.js';
import { type LedgerCheckReply, ledgerCheck } from '#contracts/billing/ledger.js';
import type { CliCommand } from '../command.js';
import { renderTable } from '../render.js';

const CHECK_MS = 600_000;

/** Asks billing for the ledger and its audit journal, and the catalog for its own. */
export const ledgerCommands: readonly CliCommand[] = [
  {
    name: 'ledger check',
    summary: 'Check every invariant of the ledger and both audit journals, also under traffic; exit code 1 on a violation',
    parameters: {},
    examples: ['ledger check', 'ledger check --json'],
    async run(_values, json, connect) {
      const messaging = await connect();
      const asked = messaging.request(catalogAuditCheck, {}, { timeoutMs: CHECK_MS });
      // A catalog that is away must not hide the answer of billing.
      const catalogAudit: CatalogAudit = await asked.catch((error: Error) => ({ notChecked: error.message }));
      const ledger = await messaging.request(ledgerCheck, {}, { timeoutMs: CHECK_MS });
      const failed = ledger.violations.length > 0 || 'notChecked' in catalogAudit || catalogAudit.faults.length > 0;
      const text = json
        ? JSON.stringify({ ...ledger, catalogAudit }, null, 2)
        : [renderCheck(ledger), renderCatalogAudit(catalogAudit)].join('\n\n');
      return { text, failed };
    },
  },
];

type CatalogAudit = AuditCheckReply | { notChecked: string };

function renderCatalogAudit(reply: CatalogAudit): string {
  if ('notChecked' in reply) return `the audit journal of the catalog was not checked: ${reply.notChecked}`;
  const { entries, faults } = reply;
  if (faults.length === 0) return `the audit journal of the catalog is consistent: ${entries} entries`;
  return ['THE AUDIT JOURNAL OF THE CATALOG IS INCONSISTENT', ...faults].join('\n');
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
