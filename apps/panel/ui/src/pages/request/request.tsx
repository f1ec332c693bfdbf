import { useState } from 'react';
import { Link, useParams } from 'wouter';
import type { BilledRequest } from '../../../../src/api/shapes/requests.js';
import { ApiError } from '../../app/api.js';
import { ENDINGS } from '../../app/endings.js';
import { useSession } from '../../app/session.js';
import { useApi } from '../../app/use-api.js';
import { shortId, useNames } from '../../app/use-names.js';
import { Button } from '../../parts/button.js';
import { Card, Figure, Figures } from '../../parts/card.js';
import { EndingBadge } from '../../parts/ending-badge.js';
import { Failure } from '../../parts/failure.js';
import { Money } from '../../parts/money.js';
import { Page } from '../../parts/page.js';
import { duration } from '../../parts/time.js';
import { PriceMaths } from './price-maths.js';
import styles from './request.module.css';
import { asText } from './terms.js';
import { Timeline } from './timeline.js';

/** Milliseconds between two looks at a running request. */
const RUNNING_MS = 2_000;

/** One request explained: its way from the key to the settlement, and its cost term by term. */
export function RequestPage() {
  const { requestId = '' } = useParams<{ requestId: string }>();
  const [isRunning, setRunning] = useState(false);
  const path = `/requests/${encodeURIComponent(requestId)}`;
  const { data: request, error } = useApi<BilledRequest>(path, { refetchMs: isRunning ? RUNNING_MS : undefined });
  if (request && request.requestId === requestId && isRunning !== !request.settlement) setRunning(!request.settlement);
  const isMissing = error instanceof ApiError && error.code === 'not_found';
  return (
    <Page title="Request" about={<code className={styles.id}>{requestId}</code>} actions={request && <CopyAsText request={request} />}>
      {error && !isMissing && <Failure error={error} />}
      {isMissing && (
        <Card title="Billing knows no request with this id">
          <p>
            A request that was refused opens no hold and costs nothing: its reply has the reason. Requests of other accounts are not shown.
          </p>
        </Card>
      )}
      {!isMissing && (
        <>
          <Sums request={request} />
          <div className={styles.columns}>
            <Timeline request={request} />
            <Card title="Belongs to">{request && <Facts request={request} />}</Card>
          </div>
          <PriceMaths request={request} />
        </>
      )}
    </Page>
  );
}

function Sums({ request }: { request: BilledRequest | undefined }) {
  const settlement = request?.settlement;
  const cost = settlement && BigInt(settlement.costPicoUsd);
  const tookMs = request && settlement ? Date.parse(settlement.settledAt) - Date.parse(request.reservedAt) : undefined;
  return (
    <Figures>
      <Figure big label="Cost" note={request && (settlement ? 'charged' : 'not yet charged')}>
        {request && (settlement ? <Money pico={settlement.costPicoUsd} /> : '–')}
      </Figure>
      <Figure label="Held" note={request && 'the most that it could cost'}>
        {request && <Money pico={request.heldPicoUsd} />}
      </Figure>
      <Figure label="Returned" note={request && (settlement ? 'to the balance' : 'at its end')}>
        {request && (cost !== undefined && cost !== null ? <Money pico={BigInt(request.heldPicoUsd) - cost} /> : '–')}
      </Figure>
      <Figure label="Took" note={request && <EndingBadge ending={settlement?.reason ?? null} />}>
        {request && (tookMs === undefined ? '–' : duration(tookMs))}
      </Figure>
    </Figures>
  );
}

function Facts({ request }: { request: BilledRequest }) {
  const { accountName, hrefOf } = useSession();
  const { projectName, keyName } = useNames(request.accountId);
  const facts = [
    { name: 'Account', value: accountName(request.accountId), page: 'overview' },
    { name: 'Project', value: projectName(request.projectId), page: `usage?project=${request.projectId}` },
    { name: 'Key', value: keyName(request.keyId), page: `usage?key=${request.keyId}` },
    { name: 'Model', value: request.model, page: `requests?model=${encodeURIComponent(request.model)}` },
  ];
  return (
    <dl className={styles.facts}>
      {facts.map(({ name, value, page }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <Link to={hrefOf(page, request.accountId)}>{value}</Link>
          </dd>
        </div>
      ))}
      <div>
        <dt>Upstream</dt>
        <dd>{request.upstream ?? 'none was called'}</dd>
      </div>
      <div>
        <dt>Hold</dt>
        <dd>
          <code title={request.holdId}>{shortId(request.holdId)}</code>
        </dd>
      </div>
      <div>
        <dt>Ending</dt>
        <dd>{request.settlement ? ENDINGS[request.settlement.reason].meaning : 'It is running.'}</dd>
      </div>
    </dl>
  );
}

function CopyAsText({ request }: { request: BilledRequest }) {
  const [copied, setCopied] = useState(false);
  return (
    <Button
      icon={copied ? 'check' : 'copy'}
      onClick={() => void navigator.clipboard.writeText(asText(request)).then(() => setCopied(true))}
      onBlur={() => setCopied(false)}
    >
      {copied ? 'Copied' : 'Copy as text'}
    </Button>
  );
}
