import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { RouteState, UpstreamRoute } from '../../../../src/shapes/catalog.js';
import type { Tone } from '../../data/outcomes.js';
import { useSession } from '../../data/session.js';
import { count } from '../../format/numbers.js';
import { Badge } from '../../parts/badge.js';
import { Icon } from '../../parts/icon.js';
import { buttonColumn, Table, TwoLines } from '../../parts/table.js';
import { duration } from '../../parts/time.js';
import styles from './upstreams.module.css';

export interface RouteRow {
  replica: string;
  route: UpstreamRoute;
}

interface RouteListProps {
  caption: string;
  /** Undefined while loading. */
  rows: RouteRow[] | undefined;
  /** Opens the test of a route. Absent: the person may only read. */
  onTest?: ((route: UpstreamRoute) => void) | undefined;
  /** True: the rows are of several replicas. */
  withReplica?: boolean;
  empty: ReactNode;
}

/** Routes as replicas see them: state, calls, times and errors. */
export function RouteList({ caption, rows, onTest, withReplica, empty }: RouteListProps) {
  const { linkTo } = useSession();
  return (
    <Table<RouteRow>
      caption={caption}
      rows={rows}
      rowKey={({ replica, route: { model, upstream, upstreamModel } }) => `${replica} ${model} ${upstream} ${upstreamModel}`}
      empty={empty}
      columns={[
        {
          head: 'Model',
          grow: true,
          cell: ({ route: { model, upstreamModel, upstream, auth } }) => (
            <TwoLines
              main={<Link to={linkTo(`models/${encodeURIComponent(model)}`)}>{model}</Link>}
              more={
                <>
                  {upstreamModel} at{' '}
                  <Link to={linkTo(`upstreams/${encodeURIComponent(upstream)}`)} className={styles.plain}>
                    {upstream}
                  </Link>
                  {auth && `, ${auth.kind}`}
                </>
              }
            />
          ),
        },
        ...(withReplica ? [{ head: 'Replica', wide: true, cell: ({ replica }: RouteRow) => replica }] : []),
        { head: 'State', cell: ({ route }) => <State route={route} /> },
        {
          head: 'In flight',
          align: 'end',
          cell: ({ route: { inFlight, concurrencyMax } }) => `${inFlight}${concurrencyMax === null ? '' : ` of ${concurrencyMax}`}`,
        },
        { head: 'Calls', align: 'end', wide: true, cell: ({ route: { calls } }) => count(calls) },
        {
          head: 'Whole call',
          align: 'end',
          wide: true,
          cell: ({ route: { durationMs, firstContentMs } }) => (
            <TwoLines
              main={durationMs === null ? '–' : duration(durationMs)}
              more={firstContentMs !== null && `first content ${duration(firstContentMs)}`}
            />
          ),
        },
        {
          head: 'Tokens a second',
          align: 'end',
          wide: true,
          cell: ({ route: { tokensPerSecond } }) => (tokensPerSecond === null ? '–' : Math.round(tokensPerSecond)),
        },
        { head: 'Errors', wide: true, cell: ({ route: { errors } }) => renderErrors(errors) },
        buttonColumn<RouteRow>('Test', ({ route }) => onTest?.(route), {
          has: () => onTest !== undefined,
          label: ({ route }) => `Test ${route.upstreamModel} at ${route.upstream}`,
        }),
      ]}
    />
  );
}

export const STATES: Record<RouteState, { name: string; tone: Tone }> = {
  up: { name: 'Up', tone: 'good' },
  probing: { name: 'Probing', tone: 'warn' },
  down: { name: 'Down', tone: 'bad' },
};

/** The state, and for a route that is down the time until it is probed. */
function State({ route: { state, cooldownMs } }: { route: UpstreamRoute }) {
  const { name, tone } = STATES[state];
  const badge = <Badge tone={tone}>{name}</Badge>;
  return state === 'down' && cooldownMs > 0 ? <TwoLines main={badge} more={`probe in ${duration(cooldownMs)}`} /> : badge;
}

/** The routes that need the operator, with their last failure and what to check. */
export function Troubles({ routes }: { routes: UpstreamRoute[] }) {
  const troubled = routes.filter(({ advice }) => advice !== null);
  if (troubled.length === 0) return null;
  return (
    <ul className={styles.failures}>
      {troubled.map(({ model, upstream, state, lastFailure, advice }) => (
        <li key={`${model} ${upstream}`} data-state={state}>
          <Icon name="warning" />
          <p>
            <strong>
              {model} at {upstream}
            </strong>
            {lastFailure ? `, ${duration(lastFailure.agoMs)} ago: ${lastFailure.detail} (${lastFailure.kind}). ` : ': '}
            {advice}
          </p>
        </li>
      ))}
    </ul>
  );
}

function renderErrors(errors: UpstreamRoute['errors']): string {
  const kinds = Object.entries(errors).filter(([, times]) => times > 0);
  return kinds.length === 0 ? '–' : kinds.map(([kind, times]) => `${count(times)} ${kind}`).join(', ');
}
