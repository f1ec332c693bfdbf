import { useState } from 'react';
import { Link, Redirect, useParams } from 'wouter';
import { parseRequestName, REQUEST_ID_FORMS } from '#contracts/rules/request-id.js';
import type { BilledRequest } from '../../../../src/shapes/billing.js';
import type { ActivityReply, EndedRequest } from '../../../../src/shapes/overview.js';
import { ApiError, useApi } from '../../data/api.js';
import { describeChild } from '../../data/child-words.js';
import { writeFilters } from '../../data/filters.js';
import { isSealed } from '../../data/months.js';
import { outcomeName, REASONS, toOutcome } from '../../data/outcomes.js';
import { shortId, useNames, useSession } from '../../data/session.js';
import { useUnits } from '../../data/units.js';
import { ReasonBadge } from '../../parts/badge.js';
import { Button, ButtonLink } from '../../parts/button.js';
import { Money } from '../../parts/money.js';
import { Card, Fact, Figure, Figures, Page } from '../../parts/page.js';
import { duration } from '../../parts/time.js';
import { CreditNote } from '../money/credit-note.js';
import { PriceMaths } from './price-maths.js';
import styles from './request.module.css';
import { asText } from './terms.js';
import { Timeline } from './timeline.js';

/** Milliseconds between two looks at a running request. */
const RUNNING_MS = 2_000;

/** One request explained: its way from the key to the settlement, and its cost term by term. */
export function RequestPage() {
  const { requestId: named = '' } = useParams<{ requestId: string }>();
  const name = parseRequestName(named);
  const requestId = name?.requestId ?? named;
  const [isRunning, setRunning] = useState(false);
  const path = `/requests/${encodeURIComponent(named)}`;
  const {
    data: request,
    error,
    isPlaceholderData,
  } = useApi<BilledRequest>(path, {
    refetchMs: isRunning ? RUNNING_MS : undefined,
    handles: ['not_found'],
  });
  if (request && request.requestId === requestId && isRunning !== !request.settlement) setRunning(!request.settlement);
  const isMissing = error instanceof ApiError && error.code === 'not_found';
  const activity = useActivity(requestId, request);
  // The address may have the id of its reply, hold or trace.
  const found = isMissing ? activity?.requestId : request?.requestId;
  if (found && found !== named && !isPlaceholderData) return <Redirect to={`/requests/${found}`} replace />;
  return (
    <Page title="Request" about={<code className={styles.id}>{requestId}</code>} actions={request && <Actions request={request} />}>
      {isMissing && !activity && (
        <Card title="No request with this id is known">
          {!name && <p>{REQUEST_ID_FORMS}</p>}
          <p>
            A request that was refused opens no hold and costs nothing; the panel records it for some days while it runs. Requests of other
            accounts are not shown.
          </p>
        </Card>
      )}
      {isMissing && activity && (
        <div className={styles.columns}>
          <Timeline request={undefined} activity={activity} />
          <Refusal refused={activity} />
        </div>
      )}
      {!isMissing && (
        <>
          <Sums request={request} activity={activity} />
          <div className={styles.columns}>
            <Timeline request={request} activity={activity} />
            <Card title="Belongs to">
              {request && (
                <Facts
                  request={request}
                  upstream={request.upstream ?? 'none was called'}
                  ending={request.settlement ? REASONS[request.settlement.reason].meaning : 'It is running.'}
                />
              )}
            </Card>
          </div>
          <PriceMaths request={request} />
        </>
      )}
    </Page>
  );
}

function Actions({ request }: { request: BilledRequest }) {
  const { may, mayOnPlatform } = useSession();
  const [isGivingBack, setGivingBack] = useState(false);
  return (
    <>
      {mayOnPlatform('money.write') && request.settlement && <Button onClick={() => setGivingBack(true)}>Credit note</Button>}
      {may('money.read') && request.settlement && isSealed(request.settlement.settledAt, Date.now()) && (
        <ButtonLink to={`/panel/v1/requests/${encodeURIComponent(request.requestId)}/receipt`} icon="download" download>
          Receipt
        </ButtonLink>
      )}
      <CopyAsText request={request} />
      {isGivingBack && <CreditNote of={request} onClose={() => setGivingBack(false)} />}
    </>
  );
}

/** What a refused client was told, and the way to what refused it. */
function Refusal({ refused }: { refused: EndedRequest }) {
  const { accountId, keyId = '', message, refusal } = refused;
  const { linkTo, may } = useSession();
  const causes: Record<RefusalCause, { text: string; page?: string }> = {
    balance: { text: 'The balance of the account', ...(may('money.read') && { page: 'money' }) },
    budget: { text: 'The budget that refused it', page: `budgets?budget=${refusal?.budgetId}` },
    key: { text: 'The key and its limits', page: `keys?key=${keyId}` },
    project: { text: 'The project and its limits', page: 'projects' },
    account: { text: 'A limit of the account, which the operator sets' },
  };
  const cause = refusal && causes[refusal.by];
  return (
    <Card title="Refused" note="no hold was made, and it costs nothing">
      {message && (
        <blockquote className={styles.told}>
          <p>{message}</p>
        </blockquote>
      )}
      {cause && <p className={styles.cause}>{cause.page ? <Link to={linkTo(cause.page, accountId)}>{cause.text}</Link> : cause.text}</p>}
      <Facts request={refused} upstream="none was called" ending={outcomeName(toOutcome(refused))} />
    </Card>
  );
}

type RefusalCause = NonNullable<EndedRequest['refusal']>['by'];

/** Gateways report a request a moment after its end. */
const REPORTED_MS = 10_000;

/** Returns what happened to the request; undefined while it may still be reported, null when it is not recorded. */
function useActivity(requestId: string, request: BilledRequest | undefined): EndedRequest | null | undefined {
  const endedAt = request?.settlement?.settledAt;
  const isDue = request !== undefined && (endedAt === undefined || Date.now() - Date.parse(endedAt) < REPORTED_MS);
  const [isAwaited, setAwaited] = useState(true);
  const path = `/requests/${encodeURIComponent(requestId)}/activity`;
  const { data } = useApi<ActivityReply>(path, { refetchMs: isDue && isAwaited ? RUNNING_MS : undefined, handles: ['not_found'] });
  // While another request loads, the data is that of the one before.
  const activity = data?.activity?.requestId === requestId ? data.activity : undefined;
  if (isAwaited === Boolean(activity)) setAwaited(!activity);
  return activity ?? (data && !isDue ? null : undefined);
}

function Sums({ request, activity }: { request: BilledRequest | undefined; activity: EndedRequest | null | undefined }) {
  const settlement = request?.settlement;
  const cost = settlement && BigInt(settlement.costPicoUsd);
  const tookMs = request && settlement ? Date.parse(settlement.settledAt) - Date.parse(request.reservedAt) : undefined;
  return (
    <Figures>
      <Figure big label="Cost" note={request && (settlement ? 'charged' : 'not yet charged')}>
        {request && (settlement ? <Money pico={settlement.costPicoUsd} exact /> : '–')}
      </Figure>
      <Figure label="Held" note={request && 'the most that it could cost'}>
        {request && <Money pico={request.heldPicoUsd} exact />}
      </Figure>
      <Figure label="Returned" note={request && (settlement ? 'to the balance' : 'at its end')}>
        {request && (cost !== undefined && cost !== null ? <Money pico={BigInt(request.heldPicoUsd) - cost} exact /> : '–')}
      </Figure>
      <Figure label="Took" note={request && <ReasonBadge reason={settlement?.reason ?? null} />}>
        {request && (tookMs === undefined ? '–' : duration(tookMs))}
      </Figure>
      <Figure label="Client waited" note={request && (activity?.heldMs === undefined ? 'not recorded' : 'from the hold to the last byte')}>
        {request && (activity?.heldMs === undefined ? '–' : duration(activity.endedMs - activity.heldMs))}
      </Figure>
    </Figures>
  );
}

type Belonging = Pick<EndedRequest, 'accountId' | 'projectId' | 'keyId' | 'model' | 'holdId'> &
  Partial<Pick<BilledRequest, 'traceId' | 'attribution'>>;

/** `User` for `user`, `Tag team` for `tag:team`. */
function renderTitle(dimension: string): string {
  if (dimension === 'parent-agent') return 'Started by';
  if (dimension === 'child') return 'Child key';
  if (dimension === 'policy-verdict') return 'Verdict of the policy';
  return dimension.charAt(0).toUpperCase() + dimension.slice(1).replace(':', ' ');
}

function Facts({ request, upstream, ending }: { request: Belonging; upstream: string; ending: string }) {
  const { accountId, projectId = '', keyId = '', model = '', holdId, traceId, attribution = {} } = request;
  const { accountName, linkTo, me } = useSession();
  const { projectName, keyName } = useNames(accountId);
  // No model has the name of an item: the catalog refuses it.
  const isItem = useUnits()(model) !== undefined;
  const facts = [
    { name: 'Account', value: accountName(accountId ?? ''), page: 'overview' },
    { name: 'Project', value: projectName(projectId), page: `projects/${projectId}` },
    { name: 'Key', value: keyName(keyId), page: `usage?key=${keyId}` },
    ...(model && !isItem ? [{ name: 'Model', value: model, page: `models/${encodeURIComponent(model)}` }] : []),
    ...(isItem ? [{ name: 'Item', value: model, page: `usage${writeFilters({ model, range: '30d' })}` }] : []),
  ];
  return (
    <dl className={styles.facts}>
      {facts.map(({ name, value, page }) => (
        <Fact key={name} name={name}>
          <Link to={linkTo(page, accountId)}>{value}</Link>
        </Fact>
      ))}
      {Object.entries(attribution).map(([dimension, value]) => (
        <Fact key={dimension} name={renderTitle(dimension)}>
          <Attributed dimension={dimension} value={value} accountId={accountId} />
        </Fact>
      ))}
      <Fact name={isItem ? 'Service' : 'Upstream'}>{upstream}</Fact>
      {holdId && (
        <Fact name="Hold">
          <code title={holdId}>{shortId(holdId)}</code>
        </Fact>
      )}
      {traceId && (
        <Fact name="Trace">
          {me.traceUrl ? (
            <a href={me.traceUrl.replaceAll('{traceId}', traceId)} target="_blank" rel="noreferrer">
              <code>{traceId}</code>
            </a>
          ) : (
            <code>{traceId}</code>
          )}
        </Fact>
      )}
      <Fact name="Ending">{ending}</Fact>
    </dl>
  );
}

/** Verdicts of policies in words; the others are words. */
const VERDICTS: Record<string, string> = { 'failed-open': 'none: it failed, and the request ran', 'failed-closed': 'none: it failed' };

/** What the request named. Users and values of tags lead to their requests. */
function Attributed({ dimension, value, accountId }: { dimension: string; value: string; accountId: string | undefined }) {
  const { linkTo } = useSession();
  const tag = dimension.startsWith('tag:') ? dimension.replace('tag:', '') : undefined;
  if (dimension === 'policy-verdict') return VERDICTS[value] ?? value;
  if (dimension === 'child') return <span title={value}>{describeChild(value)}</span>;
  const filters = dimension === 'user' ? { user: value } : tag && { tag: `${tag}=${value}` };
  return filters ? <Link to={linkTo('requests', accountId) + writeFilters({ ...filters, range: '30d' })}>{value}</Link> : value;
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
