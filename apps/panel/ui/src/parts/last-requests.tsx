import type { ListedRequest } from '../../../src/shapes/requests.js';
import { decimalsForAll } from '../format/numbers.js';
import { EndedCell } from './ended-cell.js';
import { Money } from './money.js';
import { Empty } from './page.js';
import { RequestEnding } from './request-ending.js';
import { Table } from './table.js';

interface LastRequestsProps {
  /** Undefined while loading. */
  rows: ListedRequest[] | undefined;
  keyName: (keyId: string) => string;
}

/** A short list of the last requests, each with a link to its page. */
export function LastRequests({ rows, keyName }: LastRequestsProps) {
  const decimals = decimalsForAll(rows?.flatMap(({ costPicoUsd }) => costPicoUsd ?? []) ?? []);
  return (
    <Table<ListedRequest>
      caption="Last requests"
      rows={rows}
      rowKey={({ holdId, requestId }) => holdId ?? requestId}
      opens
      empty={<Empty icon="requests" title="No requests in the last 7 days" />}
      columns={[
        {
          head: 'Ended',
          isTime: true,
          cell: (request) => <EndedCell request={request} />,
        },
        { head: 'Model', wide: true, grow: true, cell: ({ model }) => model ?? '–' },
        { head: 'Key', wide: true, cell: ({ keyId }) => keyName(keyId) },
        { head: 'Ending', cell: (request) => <RequestEnding request={request} /> },
        {
          head: 'Cost',
          align: 'end',
          cell: ({ costPicoUsd }) => costPicoUsd !== null && <Money pico={costPicoUsd} decimals={decimals} plain />,
        },
      ]}
    />
  );
}
