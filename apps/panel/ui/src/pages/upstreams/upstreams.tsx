import { useState } from 'react';
import type { RouteState, UpstreamRoute, UpstreamsReply } from '../../../../src/shapes/upstreams.js';
import { useSession } from '../../data/session.js';
import { useApi } from '../../data/use-api.js';
import type { Tone } from '../../format/colours.js';
import { count, plural } from '../../format/count.js';
import { Badge } from '../../parts/badge.js';
import { Card } from '../../parts/card.js';
import { CopyLine } from '../../parts/copy-line.js';
import { Empty } from '../../parts/empty.js';
import { Icon } from '../../parts/icon.js';
import { Page } from '../../parts/page.js';
import { buttonColumn, Table, TwoLines } from '../../parts/table.js';
import { duration } from '../../parts/time.js';
import { TestUpstream } from './test-upstream.js';
import styles from './upstreams.module.css';

const REFETCH_MS = 5_000;

/** The routes as each replica of the inference-proxy sees them: circuits and queues are its own. */
export function Upstreams() {
  const { mayOnPlatform } = useSession();
  const { data } = useApi<UpstreamsReply>('/upstreams', { refetchMs: REFETCH_MS });
  const [tested, setTested] = useState<UpstreamRoute>();
  return (
    <Page title="Upstreams" about="Routes to the models, as each replica of the inference-proxy sees them. Averages are of the last calls.">
      {data?.replicas.length === 0 && (
        <Card>
          <Empty icon="upstreams" title="No replica of the inference-proxy answers">
            <p>Requests get 502 until one does.</p>
          </Empty>
        </Card>
      )}
      {(data?.replicas ?? [undefined]).map((replica) => (
        <Card
          key={replica?.replica ?? ''}
          flush
          title={replica?.replica ?? 'Replica'}
          note={replica && `revision ${replica.catalogRevision ?? 'none'} of the catalog`}
        >
          {replica?.withoutRoute && (
            <p className={styles.note}>Without a route: {replica.withoutRoute.join(', ')}. Their upstreams are disabled.</p>
          )}
          {replica?.waiting.map(({ model, requests }) => (
            <p key={model} className={styles.note}>
              {plural(requests, 'request')} to {model} wait, because all its routes are full.
            </p>
          ))}
          <Table<UpstreamRoute>
            caption={`Routes of ${replica?.replica ?? 'a replica'}`}
            rows={replica?.routes}
            rowKey={({ model, upstream, upstreamModel }) => `${model} ${upstream} ${upstreamModel}`}
            empty={
              <Empty icon="upstreams" title="The catalog has no route">
                <p>Probe a model server; the probe prints the entries for the catalog:</p>
                <CopyLine text="npm run -s tollgate -- upstreams test vllm --url http://127.0.0.1:8000/v1 --allow-private-network" />
              </Empty>
            }
            columns={[
              {
                head: 'Model',
                cell: ({ model, upstreamModel, upstream }) => <TwoLines main={model} more={`${upstreamModel} at ${upstream}`} />,
              },
              { head: 'State', cell: (route) => <State route={route} /> },
              {
                head: 'In flight',
                align: 'end',
                cell: ({ inFlight, concurrencyMax }) => `${inFlight}${concurrencyMax === null ? '' : ` of ${concurrencyMax}`}`,
              },
              { head: 'Calls', align: 'end', wide: true, cell: ({ calls }) => count(calls) },
              {
                head: 'First content',
                align: 'end',
                wide: true,
                cell: ({ firstContentMs }) => (firstContentMs === null ? '–' : duration(firstContentMs)),
              },
              {
                head: 'Whole call',
                align: 'end',
                wide: true,
                cell: ({ durationMs }) => (durationMs === null ? '–' : duration(durationMs)),
              },
              {
                head: 'Tokens a second',
                align: 'end',
                wide: true,
                cell: ({ tokensPerSecond }) => (tokensPerSecond === null ? '–' : Math.round(tokensPerSecond)),
              },
              { head: 'Errors', wide: true, cell: ({ errors }) => renderErrors(errors) },
              buttonColumn<UpstreamRoute>('Test', setTested, {
                has: () => mayOnPlatform('upstreams'),
                label: (route) => `Test ${route.upstreamModel} at ${route.upstream}`,
              }),
            ]}
          />
          <Troubles routes={replica?.routes ?? []} />
        </Card>
      ))}
      {tested && <TestUpstream upstream={tested.upstream} model={tested.upstreamModel} onClose={() => setTested(undefined)} />}
    </Page>
  );
}

const STATES: Record<RouteState, { name: string; tone: Tone }> = {
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
function Troubles({ routes }: { routes: UpstreamRoute[] }) {
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
