import { useState } from 'react';
import type { RouteStatus, UpstreamsReply } from '../../../../src/api/shapes/upstreams.js';
import { useSession } from '../../app/session.js';
import { useApi } from '../../app/use-api.js';
import { Badge } from '../../parts/badge.js';
import { Button } from '../../parts/button.js';
import { Card } from '../../parts/card.js';
import { CopyLine } from '../../parts/copy-line.js';
import { count, plural } from '../../parts/count.js';
import { Empty } from '../../parts/empty.js';
import { Failure } from '../../parts/failure.js';
import { Icon } from '../../parts/icon.js';
import { Page } from '../../parts/page.js';
import { Table, TwoLines } from '../../parts/table.js';
import { duration } from '../../parts/time.js';
import { TestUpstream } from './test-upstream.js';
import styles from './upstreams.module.css';

const REFETCH_MS = 5_000;

/** The routes as each replica of the inference-proxy sees them: circuits and queues are its own. */
export function Upstreams() {
  const { mayOnPlatform } = useSession();
  const { data, error } = useApi<UpstreamsReply>('/upstreams', { refetchMs: REFETCH_MS });
  const [tested, setTested] = useState<RouteStatus>();
  return (
    <Page title="Upstreams" about="Routes to the models, as each replica of the inference-proxy sees them. Averages are of the last calls.">
      {error && <Failure error={error} />}
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
          <Table<RouteStatus>
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
              { head: 'Errors', wide: true, cell: ({ errors }) => errorsOf(errors) },
              {
                head: '',
                align: 'end',
                cell: (route) =>
                  mayOnPlatform('upstreams') && (
                    <Button look="quiet" aria-label={`Test ${route.upstreamModel} at ${route.upstream}`} onClick={() => setTested(route)}>
                      Test
                    </Button>
                  ),
              },
            ]}
          />
          <Failures routes={replica?.routes ?? []} />
        </Card>
      ))}
      {tested && <TestUpstream upstream={tested.upstream} model={tested.upstreamModel} onClose={() => setTested(undefined)} />}
    </Page>
  );
}

function State({ route }: { route: RouteStatus }) {
  if (!route.isHealthy) return <Badge tone="bad">Unhealthy</Badge>;
  if (route.circuit === 'closed') return <Badge tone="good">Closed</Badge>;
  if (route.circuit === 'half-open') return <Badge tone="warn">Half-open</Badge>;
  return <Badge tone="bad">{`Open, ${duration(route.cooldownMs)}`}</Badge>;
}

/** The last failure of each route that has one, with its cure. */
function Failures({ routes }: { routes: RouteStatus[] }) {
  const failed = routes.flatMap((route) => (route.lastFailure ? [{ ...route, failure: route.lastFailure }] : []));
  if (failed.length === 0) return null;
  return (
    <ul className={styles.failures}>
      {failed.map(({ model, upstream, failure }) => (
        <li key={`${model} ${upstream}`}>
          <Icon name="warning" />
          <p>
            <strong>
              {model} at {upstream}
            </strong>
            , {duration(failure.agoMs)} ago: {failure.detail} ({failure.kind}).{' '}
            {failure.isOperatorsFault
              ? 'Retries do not help: check the route in the catalog and the key of the upstream.'
              : 'It is retried by itself.'}
          </p>
        </li>
      ))}
    </ul>
  );
}

function errorsOf(errors: RouteStatus['errors']): string {
  const kinds = Object.entries(errors).filter(([, times]) => times > 0);
  return kinds.length === 0 ? '–' : kinds.map(([kind, times]) => `${count(times)} ${kind}`).join(', ');
}
