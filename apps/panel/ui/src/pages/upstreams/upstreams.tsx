import { useEffect, useState } from 'react';
import type { RouteState, UpstreamCheck, UpstreamProbeEnd, UpstreamRoute, UpstreamsReply } from '../../../../src/shapes/catalog.js';
import { ApiError, openEvents, useApi } from '../../data/api.js';
import type { Tone } from '../../data/outcomes.js';
import { useSession } from '../../data/session.js';
import { count, plural } from '../../format/numbers.js';
import { Badge } from '../../parts/badge.js';
import { Button } from '../../parts/button.js';
import { CopyLine } from '../../parts/copy-line.js';
import { Dialog, DialogActions } from '../../parts/dialog.js';
import { Icon } from '../../parts/icon.js';
import { Card, Empty, Failure, Page } from '../../parts/page.js';
import { buttonColumn, Table, TwoLines } from '../../parts/table.js';
import { duration } from '../../parts/time.js';
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
          <Empty icon="upstreams" title="No replica of the inference-proxy answers" text="Requests get 502 until one does." />
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
              <Empty
                icon="upstreams"
                title="The catalog has no route"
                text="Probe a model server; the probe prints the entries for the catalog:"
              >
                <CopyLine text="npx tollgate upstreams test vllm --url http://127.0.0.1:8000/v1 --allow-private-network" />
              </Empty>
            }
            columns={[
              {
                head: 'Model',
                cell: ({ model, upstreamModel, upstream, auth }) => (
                  <TwoLines main={model} more={`${upstreamModel} at ${upstream}${auth ? `, ${auth.kind}` : ''}`} />
                ),
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

/** Asks before the requests that the test sends, then shows each check as it ends. Closing it stops the test. */
export function TestUpstream({ upstream, model, onClose }: { upstream: string; model: string; onClose: () => void }) {
  const [isStarted, setStarted] = useState(false);
  return (
    <Dialog title={`Test ${upstream}`} onClose={onClose}>
      {isStarted ? (
        <RunningTest upstream={upstream} model={model} />
      ) : (
        <p>
          Sends some 30 small requests for <code>{model}</code>, with less than a thousand tokens of output. They are billed to no account;
          the upstream may charge them. The test takes up to a few minutes.
        </p>
      )}
      <DialogActions>
        <Button onClick={onClose}>Close</Button>
        {!isStarted && (
          <Button look="primary" onClick={() => setStarted(true)}>
            Start test
          </Button>
        )}
      </DialogActions>
    </Dialog>
  );
}

interface Progress {
  checks: UpstreamCheck[];
  end: UpstreamProbeEnd | null;
  failure: unknown;
}

function RunningTest({ upstream, model }: { upstream: string; model: string }) {
  const [{ checks, end, failure }, setProgress] = useState<Progress>({ checks: [], end: null, failure: null });
  useEffect(() => {
    const abort = new AbortController();
    const change = (changed: (now: Progress) => Partial<Progress>) => setProgress((now) => ({ ...now, ...changed(now) }));
    const run = async () => {
      for await (const { name, data } of (await openEvents(`/upstreams/${encodeURIComponent(upstream)}/test`, { model }, abort.signal))
        .events) {
        const event = JSON.parse(data);
        if (name === 'check-end') change((now) => ({ checks: [...now.checks, event.check as UpstreamCheck] }));
        if (name === 'test-end') change(() => ({ end: event as UpstreamProbeEnd }));
        if (name === 'error') throw new ApiError(event.error.message, event.error.code);
      }
    };
    void run().catch((error: unknown) => {
      if (!abort.signal.aborted) change(() => ({ failure: error }));
    });
    return () => abort.abort();
  }, [upstream, model]);
  return (
    <>
      {end && <Result end={end} />}
      <ol className={styles.checks} aria-label="Checks" aria-busy={!end && !failure}>
        {checks.map((check) => (
          <li key={check.id}>
            <Badge tone={chooseTone(check)}>{check.verdict}</Badge>
            <span>
              <span className={styles.title}>{check.title}</span>
              <span className={styles.evidence}>{check.evidence}</span>
            </span>
          </li>
        ))}
        {!end && !failure && <li className={styles.evidence}>{checks.length === 0 ? 'Connecting…' : 'Next check…'}</li>}
      </ol>
      {failure !== null && <Failure error={failure} />}
    </>
  );
}

/** Checks without which an upstream serves nothing. Others only describe it: a capability that is missing is no fault. */
const NEEDED = new Set(['reachable', 'key', 'model', 'plain']);

function chooseTone({ id, verdict }: UpstreamCheck): Tone {
  if (verdict === 'yes') return 'good';
  return verdict === 'no' && NEEDED.has(id) ? 'bad' : 'neutral';
}

function Result({ end }: { end: UpstreamProbeEnd }) {
  const { servesText, firstContentMs, tokensPerSecond, requests, promptTokens, outputTokens, changes } = end;
  return (
    <>
      <p>
        <Badge tone={servesText ? 'good' : 'bad'}>{servesText ? 'Serves text' : 'Cannot serve plain text'}</Badge>{' '}
        {servesText ? (
          <>
            {firstContentMs !== null && `First content after ${duration(firstContentMs)}. `}
            {tokensPerSecond !== null && `${Math.round(tokensPerSecond)} tokens a second. `}
          </>
        ) : (
          'The check that failed says what to change. '
        )}
        {plural(requests, 'request')}, {plural(promptTokens + outputTokens, 'token')}.
      </p>
      {changes.length > 0 && (
        <>
          <p>Its entry in the catalog differs. Correct its capabilities on the page Models:</p>
          <Table
            caption="Differences from the catalog"
            rows={changes}
            rowKey={({ name }) => name}
            columns={[
              { head: 'Capability', cell: ({ name }) => <code>{name}</code> },
              { head: 'Catalog', cell: ({ catalog }) => String(catalog) },
              { head: 'Found', cell: ({ found }) => String(found) },
            ]}
          />
        </>
      )}
    </>
  );
}
