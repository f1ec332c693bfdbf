import { useEffect, useRef, useState } from 'react';
import { Link } from 'wouter';
import type { EndedRequest, LiveRequests, LiveSkipped } from '../../../../src/shapes/overview.js';
import type { Filters } from '../../data/filters.js';
import { outcomeName, outcomeTone, toOutcome } from '../../data/outcomes.js';
import { useNarrow } from '../../data/place.js';
import { useNames, useSession } from '../../data/session.js';
import { count } from '../../format/numbers.js';
import { Badge } from '../../parts/badge.js';
import { Moment } from '../../parts/moment.js';
import { Card } from '../../parts/page.js';
import { Table, TwoLines } from '../../parts/table.js';
import { duration } from '../../parts/time.js';
import styles from './live-list.module.css';
import { LiveRows } from './live-rows.js';

const STEP_MS = 250;
/** Milliseconds until a stream that the server has ended is opened again. */
const REOPEN_MS = 5_000;

/** Requests as they end, refused ones included. Stands still under the pointer and with the focus inside. */
export function LiveList({ filters }: { filters: Filters }) {
  const { account } = useSession();
  const narrow = useNarrow();
  const { keyName } = useNames();
  const [isHeld, setHeld] = useState(false);
  const { shown, more } = useLiveRows(narrow(`/panel/v1/accounts/${account}/live`), filters, isHeld);
  return (
    <Card flush title="Live" note={more > 0 ? `${count(more)} more` : isHeld ? 'paused' : 'requests as they end, refused ones included'}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the pointer only holds the rows still; the links carry the focus. */}
      <div
        className={styles.rows}
        onPointerEnter={() => setHeld(true)}
        onPointerLeave={() => setHeld(false)}
        onFocus={() => setHeld(true)}
        onBlur={() => setHeld(false)}
      >
        <Table<EndedRequest>
          caption="Live requests"
          opens
          rows={[...shown]}
          rowKey={({ requestId }) => requestId}
          empty={<p className={styles.empty}>Waiting for requests.</p>}
          columns={[
            {
              head: 'Ended',
              isTime: true,
              cell: ({ requestId, receivedAt, endedMs, model }) => (
                <TwoLines
                  main={
                    <Link to={`/requests/${requestId}`} className={styles.link}>
                      <Moment at={new Date(Date.parse(receivedAt) + endedMs).toISOString()} format="time" />
                    </Link>
                  }
                  more={model ?? '–'}
                  narrow
                />
              ),
            },
            { head: 'Model', wide: true, cell: ({ model = '–' }) => model },
            { head: 'Key', grow: true, wide: true, cell: ({ keyId }) => (keyId ? keyName(keyId) : 'no valid key') },
            {
              head: 'First content',
              align: 'end',
              wide: true,
              cell: ({ stream, firstContentMs }) => (stream && firstContentMs !== undefined ? duration(firstContentMs) : ''),
            },
            { head: 'Took', align: 'end', cell: ({ endedMs }) => duration(endedMs) },
            {
              head: 'Outcome',
              cell: (request) => <Badge tone={outcomeTone(toOutcome(request))}>{outcomeName(toOutcome(request))}</Badge>,
            },
          ]}
        />
      </div>
    </Card>
  );
}

/** Reads the live requests while the tab is visible. */
function useLiveRows(
  url: string,
  { project, key, model, ending, status, code }: Filters,
  isHeld: boolean,
): Pick<LiveRows, 'shown' | 'more'> {
  const rows = useRef(new LiveRows());
  const [view, setView] = useState<Pick<LiveRows, 'shown' | 'more'>>({ shown: [], more: 0 });
  const isVisible = useVisible();
  useEffect(() => {
    rows.current = new LiveRows();
    if (!isVisible) return;
    const isWanted = (request: EndedRequest): boolean =>
      (!project || request.projectId === project) &&
      (!key || request.keyId === key) &&
      (!model || request.model === model) &&
      (!ending || (request.outcome ?? 'refused') === ending) &&
      (!status || String(request.status) === status) &&
      (!code || toOutcome(request).code === code);
    return follow(url, {
      requests: (requests) => rows.current.add(requests.filter(isWanted)),
      skipped: ({ count: skipped }) => rows.current.skip(skipped),
    });
  }, [url, project, key, model, ending, status, code, isVisible]);
  useEffect(() => {
    if (!isHeld) rows.current.clearSkipped();
    const timer = setInterval(() => {
      if (!isHeld) rows.current.step();
      const { shown, more } = rows.current;
      setView((last) => (last.shown === shown && last.more === more ? last : { shown, more }));
    }, STEP_MS);
    return () => clearInterval(timer);
  }, [isHeld]);
  return view;
}

/** Opens a stream of events. Browsers open it again when the connection breaks, but not after a refusal. Returns the function that ends it. */
function follow(url: string, on: { requests: (requests: LiveRequests) => void; skipped: (skipped: LiveSkipped) => void }): () => void {
  let source: EventSource;
  let timer: ReturnType<typeof setTimeout>;
  const open = () => {
    source = new EventSource(url);
    source.addEventListener('requests', ({ data }) => on.requests(JSON.parse(data) as LiveRequests));
    source.addEventListener('skipped', ({ data }) => on.skipped(JSON.parse(data) as LiveSkipped));
    source.addEventListener('error', () => {
      if (source.readyState === EventSource.CLOSED) timer = setTimeout(open, REOPEN_MS);
    });
  };
  open();
  return () => {
    clearTimeout(timer);
    source.close();
  };
}

function useVisible(): boolean {
  const [isVisible, setVisible] = useState(!document.hidden);
  useEffect(() => {
    const onChange = () => setVisible(!document.hidden);
    document.addEventListener('visibilitychange', onChange);
    return () => document.removeEventListener('visibilitychange', onChange);
  }, []);
  return isVisible;
}
