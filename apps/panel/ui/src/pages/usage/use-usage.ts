import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { UsageQueryReply, UsageRow } from '../../../../src/shapes/billing.js';
import { callApi, useApi, withQuery } from '../../data/api.js';
import type { Group } from '../../data/filters.js';
import { useNarrow } from '../../data/place.js';
import { hasGroup } from '../../data/usage-rows.js';
import { type GroupSum, sumRows, sumTotal } from './sums.js';

/** Rows of one reply, the most that the API has. */
const ROWS_MAX = 1_000;
/** Replies that the sums of one time are read from: 10,000 groups. */
const REPLIES_MAX = 10;

type UsageQuestion = Record<string, string | undefined>;

interface Times {
  /** Undefined: usage is not split. */
  group: Group | undefined;
  question: UsageQuestion;
  step: string;
  /** The same of the time before. */
  before: UsageQuestion;
  /** Changes the rows of both before they are added up. */
  merge: (row: UsageRow) => UsageRow;
}

export interface Usage {
  sums: GroupSum[] | undefined;
  total: GroupSum | undefined;
  /** Rows by hour or day, for the chart. */
  rows: UsageRow[] | undefined;
  /** True: the rows are not by group, because there are too many. */
  isPlain: boolean;
  /** True: there are more groups than the sums have. */
  isCut: boolean;
  /** Sums of the time before. Null: billing does not have all of it, as after a month was detached. */
  before: GroupSum[] | null | undefined;
}

/** Usage of a time by group and hour or day, its sums, and the sums of the time before. */
export function useUsage(account: string, { group, question, step, before, merge }: Times): Usage {
  const narrow = useNarrow();
  const path = (query: UsageQuestion) => narrow(withQuery(`/accounts/${account}/usage`, { ...query, limit: ROWS_MAX }));
  const grouped = fitting(useApi<UsageQueryReply>(path({ ...question, groupBy: group, step })).data, group);
  const isPlain = grouped != null && grouped.nextCursor !== null;
  const plain = useApi<UsageQueryReply>(isPlain ? path({ ...question, step }) : null).data;
  const ofGroups = fitting(useReplies(isPlain ? path({ ...question, groupBy: group }) : null).data, group);
  const { data, error } = useReplies(path({ ...before, groupBy: group }));
  const earlier = fitting(data, group);
  const isUnknown = error !== null || earlier?.nextCursor != null;
  return useMemo(() => {
    const add = (rows: UsageRow[] | undefined) => rows && sumRows(rows.map(merge), group ?? 'model');
    const sums = add(isPlain ? ofGroups?.rows : grouped?.rows);
    const over = isPlain ? add(plain?.rows) : sums;
    return {
      sums,
      total: over && sumTotal(over),
      rows: (isPlain ? plain : grouped)?.rows.map(merge),
      isPlain,
      isCut: isPlain && ofGroups?.nextCursor != null,
      before: isUnknown ? null : add(earlier?.rows),
    };
  }, [grouped, plain, ofGroups, earlier, isUnknown, isPlain, group, merge]);
}

/** Returns the reply, unless its rows are by another group: that of the page before the choice, which stays while the next one loads. */
function fitting<Reply extends { rows: UsageRow[] }>(reply: Reply | undefined, group: Group | undefined): Reply | undefined {
  const [row] = reply?.rows ?? [];
  return row && group && !hasGroup(row, group) ? undefined : reply;
}

/** The rows of all replies to a question, up to `REPLIES_MAX`. */
function useReplies(path: string | null) {
  return useQuery<{ rows: UsageRow[]; nextCursor: string | null }>({
    queryKey: ['replies', path],
    queryFn: async ({ signal }) => {
      const rows: UsageRow[] = [];
      let cursor: string | null = null;
      for (let replies = 0; replies < REPLIES_MAX; replies++) {
        const reply: UsageQueryReply = await callApi('GET', `${path}${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`, {
          signal,
        });
        rows.push(...reply.rows);
        cursor = reply.nextCursor;
        if (cursor === null) break;
      }
      return { rows, nextCursor: cursor };
    },
    enabled: path !== null,
    placeholderData: keepPreviousData,
    meta: { handles: ['invalid_request'] },
  });
}
