import { Fragment } from 'react';
import type { ListedRequest } from '../../../src/shapes/requests.js';
import { ReasonBadge } from './badge.js';
import { TwoLines } from './table.js';

/** How a request ended and, when it did not complete, what its client got. */
export function RequestEnding({ request: { ending, status, code } }: { request: ListedRequest }) {
  const got = [status, code].filter((part) => part !== null).join(' ');
  // A code may have a line for each of its words.
  const words = got.split(/(?<=_)/);
  const badge = <ReasonBadge reason={ending} />;
  return ending === 'completed' || got === '' || code === 'client_disconnected' ? (
    badge
  ) : (
    <TwoLines
      main={badge}
      more={words.map((word) => (
        <Fragment key={word}>
          {word}
          <wbr />
        </Fragment>
      ))}
    />
  );
}
