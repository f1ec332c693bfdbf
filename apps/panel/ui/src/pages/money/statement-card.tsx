import { Link, useLocation, useSearch } from 'wouter';
import { MOVEMENT_NAMES } from '#contracts/rules/movement-names.js';
import type { Statement, StatementLine } from '../../../../src/shapes/billing.js';
import { useApi } from '../../data/api.js';
import { writeFilters } from '../../data/filters.js';
import { monthAfter, readMonth, toMonth } from '../../data/months.js';
import { useSession } from '../../data/session.js';
import { exactDecimals, plural } from '../../format/numbers.js';
import { ButtonLink } from '../../parts/button.js';
import { Moment, UtcDay } from '../../parts/moment.js';
import { Money } from '../../parts/money.js';
import { Card, Empty, Skeleton } from '../../parts/page.js';
import { Table, TwoLines } from '../../parts/table.js';
import { utcMonth } from '../../parts/time.js';
import styles from './statement-card.module.css';
import { listStatementTerms } from './statement-sums.js';

const DAY_MS = 86_400_000;

/** The statement of a month: its sum, and each line with the balance after it. */
export function StatementCard() {
  const { account, linkTo: linkToPage } = useSession();
  const [path] = useLocation();
  const now = Date.now();
  const month = readMonth(useSearch(), now);
  const { data } = useApi<Statement>(`/accounts/${account}/statements/${month}`);
  const statement = data?.month === month ? data : undefined;
  // Exact, so that the lines can be added; the same for all, so that their digits stand below one another.
  const decimals = exactDecimals(statement?.lines.flatMap(({ amountPicoUsd, balancePicoUsd }) => [amountPicoUsd, balancePicoUsd]) ?? []);
  const linkTo = (other: string) => `${path}${other === toMonth(now) ? '' : `?month=${other}`}`;
  return (
    <Card
      flush
      title={`Statement of ${utcMonth(`${month}-01`)}`}
      note={statement && (statement.isClosed ? 'closed' : 'so far')}
      actions={
        <>
          <ButtonLink to={linkTo(monthAfter(month, -1))}>Month before</ButtonLink>
          {month < toMonth(now) && <ButtonLink to={linkTo(monthAfter(month, 1))}>Month after</ButtonLink>}
          <ButtonLink to={`/panel/v1/accounts/${account}/statements/${month}.csv`} icon="download" download>
            CSV
          </ButtonLink>
          {month < toMonth(now) && (
            <ButtonLink to={`/panel/v1/accounts/${account}/statements/${month}.pdf`} icon="download" download>
              PDF
            </ButtonLink>
          )}
          {statement?.receipts && (
            <ButtonLink to={`/panel/v1/accounts/${account}/receipts/${month}.jsonl`} icon="download" download>
              Receipts
            </ButtonLink>
          )}
        </>
      }
    >
      <Sum statement={statement} />
      {statement?.receipts && (
        <p className={styles.root}>
          {plural(statement.receipts.requests, 'receipt')}
          {statement.receipts.lateSettlements > 0 && ` and ${plural(statement.receipts.lateSettlements, 'late settlement')}`}, with the root{' '}
          <code>{statement.receipts.root}</code>
        </p>
      )}
      <Table<StatementLine>
        caption={`Statement of ${month}`}
        rows={statement?.lines.toReversed()}
        rowKey={({ at, kind, reference }) => `${at} ${kind} ${reference}`}
        empty={<Empty icon="money" title="No movements in this month" />}
        columns={[
          { head: 'Day', cell: ({ at, kind }) => (kind === 'usage' ? <UtcDay at={at} /> : <Moment at={at} format="day" />) },
          {
            head: 'Movement',
            grow: true,
            cell: ({ at, kind, reference, reason, requests }) => (
              <TwoLines
                main={MOVEMENT_NAMES[kind]}
                more={
                  requests === null ? (
                    [reference, reason].filter(Boolean).join(', ')
                  ) : (
                    <Link to={linkToPage('requests') + writeFilters(spanDay(at))}>{plural(requests, 'request')}</Link>
                  )
                }
              />
            ),
          },
          { head: 'Amount', align: 'end', cell: ({ amountPicoUsd }) => <Money pico={amountPicoUsd} decimals={decimals} signed plain /> },
          {
            head: 'Balance',
            align: 'end',
            wide: true,
            cell: ({ balancePicoUsd }) => <Money pico={balancePicoUsd} decimals={decimals} plain />,
          },
        ]}
      />
    </Card>
  );
}

/** The UTC day that a line of usage sums up. */
function spanDay(at: string): { from: string; to: string } {
  const from = Date.parse(at.slice(0, 10));
  return { from: new Date(from).toISOString(), to: new Date(from + DAY_MS).toISOString() };
}

function Sum({ statement }: { statement: Statement | undefined }) {
  const sum = statement && listStatementTerms(statement);
  return (
    <dl className={styles.sum}>
      {(sum?.terms ?? PLACEHOLDERS).map(({ name, note, amount }, at) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd className={styles.amount}>{sum ? <Money pico={amount} exact signed={at > 0} /> : <Skeleton width="4rem" />}</dd>
          <dd className={styles.note}>{note}</dd>
        </div>
      ))}
      <div className={styles.closing}>
        <dt>{statement?.isClosed === false ? 'Now' : 'Closing'}</dt>
        <dd className={styles.amount}>{statement ? <Money pico={statement.closingPicoUsd} exact /> : <Skeleton width="4rem" />}</dd>
        <dd className={styles.note}>{sum && (sum.addsUp ? 'adds up to the last digit' : 'does not add up')}</dd>
      </div>
    </dl>
  );
}

const PLACEHOLDERS = ['Opening', 'In', 'Out', 'Cost', 'Forfeited'].map((name) => ({ name, note: '', amount: 0n }));
