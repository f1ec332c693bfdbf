import { useState } from 'react';
import { Link } from 'wouter';
import type { RequestListReply, RequestRow } from '../../../../src/shapes/billing.js';
import { usePages, withQuery } from '../../data/api.js';
import { useFilters, useSpan } from '../../data/filters.js';
import { useNames, useSession } from '../../data/session.js';
import { count, decimalsForAll } from '../../format/numbers.js';
import { ReasonBadge } from '../../parts/badge.js';
import { Button, ButtonLink } from '../../parts/button.js';
import { CopyLine } from '../../parts/copy-line.js';
import { FilterBar, RangePicker } from '../../parts/filter-bar.js';
import { Moment } from '../../parts/moment.js';
import { Money } from '../../parts/money.js';
import { Card, Empty, Page } from '../../parts/page.js';
import { ProjectLink } from '../../parts/project-link.js';
import { Table, TwoLines } from '../../parts/table.js';
import { duration } from '../../parts/time.js';
import { LiveList } from './live-list.js';
import styles from './requests.module.css';

const ROWS = 50;
/** Milliseconds between two looks for new requests. */
const LIVE_MS = 2_000;

/** Requests, the running ones first, then the newest. */
export function Requests() {
  const { account, accountName } = useSession();
  const { filters } = useFilters();
  const span = useSpan(filters, '24h');
  const [isLive, setLive] = useState(true);
  const { projectName, keyName } = useNames();
  const question = {
    from: new Date(span.from).toISOString(),
    // Without an end the list has what ends from now on.
    to: filters.to,
    projectId: filters.project,
    keyId: filters.key,
    model: filters.model,
    upstream: filters.upstream,
    ending: filters.ending,
  };
  const list = usePages<RequestListReply>(withQuery(`/accounts/${account}/requests`, { ...question, limit: ROWS }), {
    refetchMs: isLive && !filters.to ? LIVE_MS : undefined,
  });
  const pages = list.data?.pages;
  const rows = pages?.flatMap(({ requests }) => requests);
  const last = pages?.at(-1);
  const decimals = decimalsForAll(rows?.map(({ costPicoUsd }) => BigInt(costPicoUsd ?? 0)) ?? []);
  return (
    <Page
      title="Requests"
      actions={
        <>
          {!filters.to && (
            <Button className={styles.live} aria-pressed={isLive} onClick={() => setLive(!isLive)}>
              {isLive ? 'Live' : 'Paused'}
            </Button>
          )}
          <ButtonLink to={withQuery(`/panel/v1/accounts/${account}/requests.csv`, question)} icon="download" download>
            CSV
          </ButtonLink>
        </>
      }
    >
      <FilterBar>
        <RangePicker fallback="24h" names={['1h', '24h', '7d', '30d']} />
      </FilterBar>
      {isLive && !filters.to && <LiveList filters={filters} />}
      <Card flush>
        <Table<RequestRow>
          caption="Requests"
          rows={rows}
          placeholders={12}
          rowKey={({ holdId }) => holdId}
          empty={<NoRequests />}
          columns={[
            {
              head: 'Started',
              cell: ({ requestId, reservedAt, model }) => (
                <TwoLines
                  main={
                    <Link to={`/requests/${requestId}`} className={styles.link}>
                      <Moment at={reservedAt} />
                    </Link>
                  }
                  more={model}
                  narrow
                />
              ),
            },
            { head: 'Model', wide: true, cell: ({ model, upstream }) => <TwoLines main={model} more={upstream ?? '–'} /> },
            {
              head: 'Project, key',
              grow: true,
              wide: true,
              cell: ({ projectId, keyId, accountId }) => (
                <TwoLines
                  main={<ProjectLink projectId={projectId} accountId={accountId} name={projectName(projectId)} />}
                  more={account === 'all' ? `${accountName(accountId)}, ${keyName(keyId)}` : keyName(keyId)}
                />
              ),
            },
            { head: 'Prompt', align: 'end', wide: true, cell: ({ usage }) => usage && count(usage.promptTokens) },
            { head: 'Output', align: 'end', wide: true, cell: ({ usage }) => usage && count(usage.outputTokens) },
            {
              head: 'Took',
              align: 'end',
              wide: true,
              cell: ({ reservedAt, settledAt }) => settledAt && duration(Date.parse(settledAt) - Date.parse(reservedAt)),
            },
            { head: 'Ending', cell: ({ ending }) => <ReasonBadge reason={ending} /> },
            {
              head: 'Cost',
              align: 'end',
              cell: ({ costPicoUsd }) => (costPicoUsd === null ? '' : <Money pico={costPicoUsd} decimals={decimals} plain />),
            },
          ]}
        />
      </Card>
      {rows && rows.length > 0 && (
        <div className={styles.end}>
          {last?.searchedTo && (
            <p>
              Searched back to <Moment at={last.searchedTo} />.
            </p>
          )}
          {list.hasNextPage ? (
            <Button
              busy={list.isFetchingNextPage}
              onClick={() => {
                // A growing list that is loaded anew each time would be slow: reading on ends the live view.
                setLive(false);
                void list.fetchNextPage();
              }}
            >
              Older requests
            </Button>
          ) : (
            <p>These are all.</p>
          )}
        </div>
      )}
    </Page>
  );
}

function NoRequests() {
  return (
    <Empty icon="requests" title="No requests in this time" text="Choose a longer time, or send one with a key:">
      <CopyLine text={'curl $TOLLGATE_URL/v1/chat/completions -H "authorization: Bearer $TOLLGATE_KEY" …'} />
    </Empty>
  );
}
