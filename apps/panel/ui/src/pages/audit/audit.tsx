import { useMemo, useState } from 'react';
import { Link } from 'wouter';
import type { AuditEntry, AuditListReply } from '../../../../src/shapes/audit.js';
import { usePages, withQuery } from '../../data/api.js';
import { type Filters, resolveSpan, useFilters } from '../../data/filters.js';
import { useSession } from '../../data/session.js';
import { ButtonLink, MoreButton } from '../../parts/button.js';
import { Moment } from '../../parts/moment.js';
import { Card, Empty, Page } from '../../parts/page.js';
import { buttonColumn, Table, TwoLines } from '../../parts/table.js';
import styles from './audit.module.css';
import { AuditFilters } from './audit-filters.js';
import { EntryDetails } from './entry-details.js';
import { Sentence } from './sentence.js';
import { useAuditWords } from './use-audit-words.js';

/** Administrative changes and sign-ins: the journals of all services, newest first. */
export function Audit() {
  const { account, accountName } = useSession();
  const { filters, hrefWith } = useFilters();
  const names = useAuditWords();
  const question = useQuestion(account, filters);
  const list = usePages<AuditListReply>(withQuery('/audit', { ...question, limit: 50 }));
  const [shown, setShown] = useState<AuditEntry>();
  const entries = list.data?.pages.flatMap((page) => page.entries);
  const { actor = '' } = filters;
  const isFiltered = Boolean(question.from || filters.actor || filters.target || filters.action);
  return (
    <Page
      title="Audit"
      about="Every change, with who made it, in the order of time. It cannot be edited."
      actions={
        <ButtonLink to={withQuery('/panel/v1/audit.csv', question)} icon="download" download>
          CSV
        </ButtonLink>
      }
    >
      <AuditFilters
        names={names}
        chosenActor={names.actorName({ actor, actorName: entries?.find((entry) => entry.actor === actor)?.actorName ?? null })}
      />
      <Card flush>
        <Table<AuditEntry>
          caption="Changes"
          rows={entries}
          placeholders={10}
          rowKey={({ id, service }) => `${service} ${id}`}
          empty={
            isFiltered ? (
              <Empty icon="audit" title="No change fits" text="Choose a longer time, or remove a filter." />
            ) : (
              <Empty icon="audit" title="No changes" text="Changes of accounts, keys, money, the catalog and people appear here." />
            )
          }
          columns={[
            { head: 'Time', isTime: true, wide: true, cell: ({ at }) => <Moment at={at} /> },
            {
              head: 'Change',
              grow: true,
              wrap: true,
              cell: (entry) => (
                <TwoLines
                  main={
                    <span className={styles.sentence}>
                      <Link to={hrefWith({ actor: entry.actor })} className={styles.actor}>
                        {names.actorName(entry)}
                      </Link>{' '}
                      <Sentence entry={entry} names={names} />
                    </span>
                  }
                  more={
                    <>
                      <span className={styles.narrow}>
                        <Moment at={entry.at} />
                      </span>
                      {[account === 'all' && entry.accountId && accountName(entry.accountId), entry.reason].filter(Boolean).join(' · ')}
                    </>
                  }
                />
              ),
            },
            buttonColumn<AuditEntry>('Details', setShown, { label: (entry) => `Details of ${entry.action} by ${names.actorName(entry)}` }),
          ]}
        />
      </Card>
      <MoreButton list={list}>Older changes</MoreButton>
      {shown && <EntryDetails entry={shown} names={names} onClose={() => setShown(undefined)} />}
    </Page>
  );
}

/** The query of the list. Its start stands while the filters do, so that the pages of the list are of one question. */
function useQuestion(account: string, filters: Filters) {
  return useMemo(() => {
    const { range, from, to, actor, action, target } = filters;
    const start = range ? new Date(resolveSpan({ range }, Date.now(), range).from).toISOString() : from;
    return { accountId: account === 'all' ? undefined : account, from: start, to, actor, action, target };
  }, [account, filters]);
}
