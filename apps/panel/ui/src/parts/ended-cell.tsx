import { Link } from 'wouter';
import type { ListedRequest } from '../../../src/shapes/requests.js';
import styles from './ended-cell.module.css';
import { Moment } from './moment.js';
import { TwoLines } from './table.js';

/** End and model of a request, as the link to its page; for a running one its start. */
export function EndedCell({ request: { requestId, reservedAt, settledAt, model } }: { request: ListedRequest }) {
  return (
    <TwoLines
      main={
        <Link to={`/requests/${requestId}`} className={styles.link}>
          {settledAt === null ? 'since ' : ''}
          <Moment at={settledAt ?? reservedAt} />
        </Link>
      }
      more={model ?? '–'}
      narrow
    />
  );
}
