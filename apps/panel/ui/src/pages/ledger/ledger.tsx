import { Link } from 'wouter';
import type {
  JournalCheck,
  JournalCheckListReply,
  LedgerCheckListReply,
  LedgerCheckReply,
  LedgerInvariant,
  LedgerViolation,
} from '../../../../src/shapes/billing.js';
import { useApi, useChange } from '../../data/api.js';
import { useSession } from '../../data/session.js';
import { count, plural } from '../../format/numbers.js';
import { Badge } from '../../parts/badge.js';
import { Button } from '../../parts/button.js';
import { Moment } from '../../parts/moment.js';
import { Card, Columns, Empty, Failure, Figure, Figures, Page } from '../../parts/page.js';
import { Table } from '../../parts/table.js';
import { duration } from '../../parts/time.js';
import styles from './ledger.module.css';

/** The invariants of the ledger, the last checks, and frozen accounts. */
export function Ledger() {
  const { accountName, linkTo, mayOnPlatform } = useSession();
  const { data } = useApi<LedgerCheckListReply>('/ledger/checks?limit=20');
  const checking = useChange<LedgerCheckReply>(() => ({ method: 'POST', path: '/ledger/checks' }));
  const journals = useApi<JournalCheckListReply>('/ledger/journals');
  const last = data?.checks[0];
  return (
    <Page
      title="Ledger"
      about="Billing checks these rules on the rows, in one snapshot, while traffic runs. An account whose money is wrong is frozen."
      actions={
        mayOnPlatform('ledger') && (
          <Button look="primary" busy={checking.isPending} onClick={() => checking.mutate()}>
            {checking.isPending ? 'Checking' : 'Check now'}
          </Button>
        )
      }
    >
      {checking.error && <Failure error={checking.error} />}
      {data && !last ? (
        <Card>
          <Empty icon="ledger" title="No check yet" text="Billing checks on a schedule. You can check now." />
        </Card>
      ) : (
        <Figures>
          <Figure label="Last check" note={last && `took ${duration(last.milliseconds)}`}>
            {last && <Moment at={last.checkedAt} named />}
          </Figure>
          <Figure label="Violations" note={last && (last.violations.length === 0 ? 'the ledger is correct' : 'listed below')}>
            {last && count(countViolations(last))}
          </Figure>
          <Figure label="Settlements" note={last && `${count(last.checked.lateSettlements)} late`}>
            {last && count(last.checked.settlements)}
          </Figure>
          <Figure label="Open holds" note={last && plural(last.checked.accounts, 'account')}>
            {last && count(last.checked.openHolds)}
          </Figure>
        </Figures>
      )}
      {data && data.frozen.length > 0 && (
        <Card title="Frozen accounts" note="their requests are refused">
          <ul className={styles.frozen}>
            {data.frozen.map(({ accountId, name, statusReason }) => (
              <li key={accountId}>
                <Link to={linkTo('money', accountId)}>{name}</Link>
                <span>{statusReason ?? 'no reason given'}</span>
              </li>
            ))}
          </ul>
        </Card>
      )}
      {last && last.violations.length > 0 && (
        <Card flush title="Violations" note="ids of what breaks a rule, the first hundred of each">
          <Table<LedgerViolation>
            caption="Violations of the last check"
            rows={last.violations}
            rowKey={({ invariant, subject }) => `${invariant} ${subject}`}
            columns={[
              { head: 'Rule', cell: ({ invariant }) => invariant },
              {
                head: 'Breaks it',
                grow: true,
                wrap: true,
                cell: ({ subject }) => <code>{subject}</code>,
              },
              {
                head: 'Account',
                cell: ({ accountId }) => (accountId ? <Link to={linkTo('money', accountId)}>{accountName(accountId)}</Link> : '–'),
              },
            ]}
          />
        </Card>
      )}
      <Columns>
        <Card flush title="Rules">
          <Table<LedgerInvariant>
            caption="Rules of the last check"
            rows={last?.invariants.toSorted(byNumber) ?? (data ? [] : undefined)}
            placeholders={11}
            rowKey={({ id }) => id}
            empty={<p />}
            columns={[
              { head: 'Rule', cell: ({ id }) => id },
              { head: 'Says', grow: true, wrap: true, cell: ({ rule }) => rule },
              {
                head: 'Result',
                align: 'end',
                cell: ({ violations }) =>
                  violations === 0 ? <Badge tone="good">Holds</Badge> : <Badge tone="bad">{plural(violations, 'violation')}</Badge>,
              },
            ]}
          />
        </Card>
        <Card flush title="Checks">
          <Table<LedgerCheckReply>
            caption="Last checks"
            rows={data?.checks}
            rowKey={({ checkedAt }) => checkedAt}
            empty={<p />}
            columns={[
              { head: 'Time', isTime: true, grow: true, cell: ({ checkedAt }) => <Moment at={checkedAt} /> },
              { head: 'Took', align: 'end', cell: ({ milliseconds }) => duration(milliseconds) },
              { head: 'Settlements', align: 'end', wide: true, cell: ({ checked }) => count(checked.settlements) },
              {
                head: 'Result',
                align: 'end',
                cell: (check) =>
                  countViolations(check) === 0 ? (
                    <Badge tone="good">Correct</Badge>
                  ) : (
                    <Badge tone="bad">{plural(countViolations(check), 'violation')}</Badge>
                  ),
              },
            ]}
          />
        </Card>
      </Columns>
      <Card flush title="Audit journals" note="checked for this page; that of billing is one of the rules">
        <Table<JournalCheck>
          caption="Audit journals"
          rows={journals.data?.journals}
          placeholders={2}
          rowKey={({ service }) => service}
          empty={<p />}
          columns={[
            { head: 'Service', cell: ({ service }) => SERVICES[service] },
            { head: 'Says', grow: true, wrap: true, cell: renderFaults },
            { head: 'Entries', align: 'end', cell: ({ entries }) => count(entries) },
            {
              head: 'Result',
              align: 'end',
              cell: ({ faults }) =>
                faults.length === 0 ? <Badge tone="good">Holds</Badge> : <Badge tone="bad">{plural(faults.length, 'fault')}</Badge>,
            },
          ]}
        />
      </Card>
    </Page>
  );
}

/** I2 before I10. */
function byNumber({ id: one }: LedgerInvariant, { id: other }: LedgerInvariant): number {
  return one.localeCompare(other, 'en', { numeric: true });
}

const SERVICES: Record<JournalCheck['service'], string> = { catalog: 'Catalog', panel: 'Panel' };

function renderFaults({ faults }: JournalCheck): string {
  return faults.length === 0 ? 'the journal is an unbroken chain' : `changed, removed or inserted: ${faults.join(', ')}`;
}

function countViolations({ invariants }: LedgerCheckReply): number {
  return invariants.reduce((sum, { violations }) => sum + violations, 0);
}
