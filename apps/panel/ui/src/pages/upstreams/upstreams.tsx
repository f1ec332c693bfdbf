import { Fragment, useState } from 'react';
import { Link } from 'wouter';
import type { CatalogGetReply, UpstreamReplica, UpstreamRoute, UpstreamsReply } from '../../../../src/shapes/catalog.js';
import { useApi } from '../../data/api.js';
import { useSession } from '../../data/session.js';
import { plural } from '../../format/numbers.js';
import { Button } from '../../parts/button.js';
import { CopyLine } from '../../parts/copy-line.js';
import { Card, Empty, Page } from '../../parts/page.js';
import { AddUpstream } from './add-upstream.js';
import { RouteList, Troubles } from './route-list.js';
import { TestUpstream } from './test-upstream.js';
import { listUnrouted } from './upstream-state.js';
import styles from './upstreams.module.css';

const REFETCH_MS = 5_000;

/** The routes as each replica of the inference-proxy sees them: circuits and queues are its own. */
export function Upstreams() {
  const { mayOnPlatform } = useSession();
  const { data } = useApi<UpstreamsReply>('/upstreams', { refetchMs: REFETCH_MS });
  const { data: catalog } = useApi<CatalogGetReply>(mayOnPlatform('catalog') ? '/catalog' : null, { handles: ['not_found'] });
  const [tested, setTested] = useState<UpstreamRoute>();
  const [isAdding, setAdding] = useState(false);
  const mayAdd = catalog?.editing === true && catalog.yaml !== null && mayOnPlatform('upstreams');
  return (
    <Page
      title="Upstreams"
      about="Routes to the models, as each replica of the inference-proxy sees them. Averages are of the last calls."
      actions={
        mayAdd && (
          <Button look="primary" icon="plus" onClick={() => setAdding(true)}>
            Add upstream
          </Button>
        )
      }
    >
      {data?.replicas.length === 0 && (
        <Card>
          <Empty icon="upstreams" title="No replica of the inference-proxy answers" text="Requests get 502 until one does." />
        </Card>
      )}
      {(data?.replicas ?? [undefined]).map((replica) => (
        <Card
          key={replica?.replica ?? ''}
          flush
          title={replica ? `Replica ${replica.replica}` : 'Replica'}
          note={replica && `revision ${replica.catalogRevision ?? 'none'} of the catalog`}
        >
          {replica?.withoutRoute && (
            <p className={styles.note}>Without a route: {replica.withoutRoute.join(', ')}. Their upstreams are disabled.</p>
          )}
          <Unrouted replica={replica} />
          {replica?.waiting.map(({ model, requests }) => (
            <p key={model} className={styles.note}>
              {plural(requests, 'request')} to {model} wait, because all its routes are full.
            </p>
          ))}
          <RouteList
            caption={`Routes of ${replica?.replica ?? 'a replica'}`}
            rows={replica?.routes.map((route) => ({ replica: replica.replica, route }))}
            onTest={mayOnPlatform('upstreams') ? setTested : undefined}
            empty={
              <Empty
                icon="upstreams"
                title="The catalog has no route"
                text="Probe a model server; the probe prints the entries for the catalog:"
              >
                <CopyLine text="npx tollgate upstreams test vllm --url http://127.0.0.1:8000/v1 --allow-private-network" />
              </Empty>
            }
          />
          <Troubles routes={replica?.routes ?? []} />
        </Card>
      ))}
      {isAdding && catalog && <AddUpstream catalog={catalog} onClose={() => setAdding(false)} />}
      {tested && <TestUpstream upstream={tested.upstream} model={tested.upstreamModel} onClose={() => setTested(undefined)} />}
    </Page>
  );
}

/** Upstreams of the catalog to which no model has a route. They can be tested on their pages. */
function Unrouted({ replica }: { replica: UpstreamReplica | undefined }) {
  const { linkTo } = useSession();
  const unrouted = replica ? listUnrouted(replica) : [];
  if (unrouted.length === 0) return null;
  return (
    <p className={styles.unrouted}>
      No model has a route to{' '}
      {unrouted.map((upstream, at) => (
        <Fragment key={upstream}>
          {at > 0 && ', '}
          <Link to={linkTo(`upstreams/${encodeURIComponent(upstream)}`)}>{upstream}</Link>
        </Fragment>
      ))}
      .
    </p>
  );
}
