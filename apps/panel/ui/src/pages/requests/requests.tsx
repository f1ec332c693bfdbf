import { useState } from 'react';
import type { ListedRequest, RequestListReply } from '../../../../src/shapes/requests.js';
import { ApiError, usePages, withQuery } from '../../data/api.js';
import { type Filters, readSeconds, useFilters, useSpan } from '../../data/filters.js';
import { useNames, useSession } from '../../data/session.js';
import { count, decimalsForAll, plural, readUsd } from '../../format/numbers.js';
import { Button, ButtonLink } from '../../parts/button.js';
import { CopyLine } from '../../parts/copy-line.js';
import { EndedCell } from '../../parts/ended-cell.js';
import { Moment } from '../../parts/moment.js';
import { Money } from '../../parts/money.js';
import { Card, Empty, Page } from '../../parts/page.js';
import { ProjectLink } from '../../parts/project-link.js';
import { RequestEnding } from '../../parts/request-ending.js';
import { Table, TwoLines } from '../../parts/table.js';
import { duration } from '../../parts/time.js';
import { LiveList } from './live-list.js';
import { RequestFilters } from './request-filters.js';
import styles from './requests.module.css';
import { NEWEST_FIRST, readOrder } from './sorting.js';

const ROWS = 50;
/** Milliseconds between two looks for new requests. */
const LIVE_MS = 2_000;

/** Requests: the running ones first, then ended and refused ones by the time of their end; or the ended ones of the time by a column. */
export function Requests() {
  const { account, accountName } = useSession();
  const { filters, change } = useFilters();
  const order = readOrder(filters.sort);
  const isNewestFirst = order.by === NEWEST_FIRST;
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
    ...askedFor(filters),
  };
  // Another order reads the whole time: it is not read anew every two seconds.
  const follows = !filters.to && isNewestFirst;
  const list = usePages<RequestListReply>(withQuery(`/accounts/${account}/requests`, { ...question, ...order.asked, limit: ROWS }), {
    refetchMs: follows && isLive ? LIVE_MS : undefined,
    handles: isNewestFirst ? undefined : ['invalid_request'],
  });
  const tooMany = findTooMany(list.error);
  const pages = list.data?.pages;
  const rows = pages?.flatMap(({ requests }) => requests);
  const last = pages?.at(-1);
  const decimals = decimalsForAll(rows?.map(({ costPicoUsd }) => BigInt(costPicoUsd ?? 0)) ?? []);
  return (
    <Page
      title="Requests"
      actions={
        <>
          {follows && (
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
      <RequestFilters />
      {isLive && follows && isKnownLive(filters) && <LiveList filters={filters} />}
      <Card flush>
        <Table<ListedRequest>
          caption="Requests"
          rows={tooMany ? [] : rows}
          placeholders={12}
          rowKey={({ holdId, requestId }) => holdId ?? requestId}
          opens
          empty={
            tooMany ? (
              <Empty icon="requests" title="Too many to sort" text={tooMany}>
                <Button onClick={() => change({ sort: undefined })}>Newest first</Button>
              </Empty>
            ) : list.hasNextPage ? (
              <Empty icon="requests" title="None found so far" text="Older requests of this time are not searched yet." />
            ) : (
              <NoRequests />
            )
          }
          sorting={{ by: order.by, onSort: (by) => change({ sort: by === NEWEST_FIRST ? undefined : by }) }}
          columns={[
            {
              head: 'Ended',
              isTime: true,
              sort: 'time',
              cell: (request) => <EndedCell request={request} />,
            },
            { head: 'Model', wide: true, cell: ({ model, upstream }) => <TwoLines main={model ?? '–'} more={upstream ?? '–'} /> },
            {
              head: 'Project, key',
              grow: true,
              wide: true,
              cell: ({ projectId, keyId, accountId, message }) => {
                const owner = account === 'all' ? `${accountName(accountId)}, ${keyName(keyId)}` : keyName(keyId);
                const project = <ProjectLink projectId={projectId} accountId={accountId} name={projectName(projectId)} />;
                // The sentence of a refusal takes the second line, so that it has the width.
                return message === null ? (
                  <TwoLines main={project} more={owner} />
                ) : (
                  <TwoLines
                    main={
                      <>
                        {project}, {owner}
                      </>
                    }
                    more={<span title={message}>{message}</span>}
                  />
                );
              },
            },
            {
              head: 'Prompt',
              align: 'end',
              wide: true,
              sort: 'promptTokens',
              cell: ({ usage }) => usage && (usage.quantity === undefined ? count(usage.promptTokens) : ''),
            },
            { head: 'Output', align: 'end', wide: true, sort: 'outputTokens', cell: ({ usage }) => usage && describeOutput(usage) },
            {
              head: 'Took',
              align: 'end',
              wide: true,
              sort: 'duration',
              cell: ({ holdId, reservedAt, settledAt }) => holdId && settledAt && duration(Date.parse(settledAt) - Date.parse(reservedAt)),
            },
            { head: 'Ending', cell: (request) => <RequestEnding request={request} /> },
            {
              head: 'Cost',
              align: 'end',
              sort: 'cost',
              cell: ({ costPicoUsd }) => (costPicoUsd === null ? '' : <Money pico={costPicoUsd} decimals={decimals} plain />),
            },
          ]}
        />
      </Card>
      {rows && !tooMany && (rows.length > 0 || list.hasNextPage) && (
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
              {isNewestFirst ? 'Older requests' : 'More requests'}
            </Button>
          ) : (
            <p>These are all.</p>
          )}
          {!isNewestFirst && <p>{order.asked.sort === 'time' ? 'Running' : 'Running and refused'} requests are not in this order.</p>}
          {rows.some(({ ending }) => ending === 'refused') && (
            <p>Of refusals of one key with the same code the panel keeps ten a minute; Overview and Usage count all of them.</p>
          )}
        </div>
      )}
    </Page>
  );
}

/** The sentence that tells why this time cannot be sorted, if that is what failed. */
function findTooMany(error: Error | null): string | undefined {
  return error instanceof ApiError && error.code === 'invalid_request' ? error.message : undefined;
}

/** The filters as the API takes them. */
function askedFor({ status, code, user, tag, costMin = '', costMax = '', tookMin = '', tookMax = '' }: Filters) {
  return {
    ...{ status, code, user, tag },
    costMinPicoUsd: readUsd(costMin).amount?.toString(),
    costMaxPicoUsd: readUsd(costMax).amount?.toString(),
    tookMinMs: readSeconds(tookMin).ms,
    tookMaxMs: readSeconds(tookMax).ms,
  };
}

/** False when a filter is set of which the reports of gateways say nothing. */
function isKnownLive({ upstream, user, tag, costMin, costMax, tookMin, tookMax }: Filters): boolean {
  return [upstream, user, tag, costMin, costMax, tookMin, tookMax].every((filter) => !filter);
}

function NoRequests() {
  return (
    <Empty icon="requests" title="No requests in this time" text="Choose a longer time, or send one with a key:">
      <CopyLine text={'curl $TOLLGATE_URL/v1/chat/completions -H "authorization: Bearer $TOLLGATE_KEY" …'} />
    </Empty>
  );
}

/** Tokens, or the units of an item of a service. */
function describeOutput({ quantity, outputTokens }: NonNullable<ListedRequest['usage']>): string {
  return quantity === undefined ? count(outputTokens) : plural(quantity, 'unit');
}
