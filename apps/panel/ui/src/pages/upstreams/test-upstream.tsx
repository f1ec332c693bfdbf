import { useEffect, useState } from 'react';
import type { UpstreamCheck, UpstreamProbeEnd } from '../../../../src/shapes/catalog.js';
import { ApiError, openEvents } from '../../data/api.js';
import type { Tone } from '../../data/outcomes.js';
import { plural } from '../../format/numbers.js';
import { Badge } from '../../parts/badge.js';
import { Button } from '../../parts/button.js';
import { Dialog, DialogActions } from '../../parts/dialog.js';
import { TextField } from '../../parts/field.js';
import { Failure } from '../../parts/page.js';
import { Table } from '../../parts/table.js';
import { duration } from '../../parts/time.js';
import styles from './upstreams.module.css';

interface TestUpstreamProps {
  upstream: string;
  /** Its name at the upstream. Absent: no route names one, and the person does. */
  model?: string | undefined;
  onClose: () => void;
}

/** Asks before the requests that the test sends, then shows each check as it ends. Closing it stops the test. */
export function TestUpstream({ upstream, model: routed, onClose }: TestUpstreamProps) {
  const [isStarted, setStarted] = useState(false);
  const [typed, setTyped] = useState('');
  const model = routed ?? typed.trim();
  return (
    <Dialog title={`Test ${upstream}`} onClose={onClose}>
      {isStarted ? (
        <RunningTest upstream={upstream} model={model} />
      ) : (
        <>
          {routed === undefined && (
            <TextField
              label="Model to test"
              hint="A name that the upstream knows."
              value={typed}
              onText={setTyped}
              maxLength={256}
              required
            />
          )}
          <p>
            Sends some 30 small requests
            {routed !== undefined && (
              <>
                {' '}
                for <code>{model}</code>
              </>
            )}
            , with less than a thousand tokens of output. They are billed to no account; the upstream may charge them. The test takes up to
            a few minutes.
          </p>
        </>
      )}
      <DialogActions>
        <Button onClick={onClose}>Close</Button>
        {!isStarted && (
          <Button look="primary" disabled={model === ''} onClick={() => setStarted(true)}>
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

/** Runs the test and shows each check as it ends. Unmounting it stops the test. */
export function RunningTest({ upstream, model }: { upstream: string; model: string }) {
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
      <div className={styles.lists} aria-busy={!end && !failure}>
        <CheckList title="To serve at all" checks={checks.filter(({ id }) => NEEDED.has(id))} />
        <CheckList title="Abilities" checks={checks.filter(({ id }) => !NEEDED.has(id))} />
        {!end && !failure && <p className={styles.evidence}>{checks.length === 0 ? 'Connecting…' : 'Next check…'}</p>}
      </div>
      {failure !== null && <Failure error={failure} />}
    </>
  );
}

function CheckList({ title, checks }: { title: string; checks: UpstreamCheck[] }) {
  if (checks.length === 0) return null;
  return (
    <section>
      <h3>{title}</h3>
      <ol className={styles.checks} aria-label={title}>
        {checks.map((check) => (
          <li key={check.id}>
            <Badge tone={chooseTone(check)}>{check.verdict}</Badge>
            <span>
              <span className={styles.title}>{check.title}</span>
              <span className={styles.evidence}>{check.evidence}</span>
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** Checks without which an upstream serves nothing. Others only describe it: a capability that is missing is no fault. */
const NEEDED = new Set(['reachable', 'key', 'model', 'plain']);

function chooseTone({ id, verdict }: UpstreamCheck): Tone {
  if (verdict === 'yes') return 'good';
  return verdict === 'no' && NEEDED.has(id) ? 'bad' : 'neutral';
}

function Result({ end }: { end: UpstreamProbeEnd }) {
  const { servesText, embeddings, firstContentMs, tokensPerSecond, requests, promptTokens, outputTokens, changes } = end;
  const serves = servesText ? 'Serves text' : embeddings.length > 0 ? 'Serves embeddings, no text' : undefined;
  return (
    <>
      <p>
        <Badge tone={serves ? 'good' : 'bad'}>{serves ?? 'Cannot serve plain text'}</Badge>{' '}
        {servesText ? (
          <>
            {firstContentMs !== null && `First content after ${duration(firstContentMs)}. `}
            {tokensPerSecond !== null && `${Math.round(tokensPerSecond)} tokens a second. `}
          </>
        ) : (
          !serves && 'The check that failed says what to change. Fields are in the catalog file, keys in variables of the inference-proxy. '
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
