import { memo } from 'react';
import { Link } from 'wouter';
import { Badge } from '../../parts/badge.js';
import { count, plural } from '../../parts/count.js';
import { Empty } from '../../parts/empty.js';
import { Failure } from '../../parts/failure.js';
import { Money } from '../../parts/money.js';
import { duration } from '../../parts/time.js';
import type { Exchange } from './exchange.js';
import styles from './playground.module.css';

/** The conversation, its end in sight while it grows. */
export function ExchangeList({ exchanges, onRetry }: { exchanges: readonly Exchange[]; onRetry: (question: string) => void }) {
  if (exchanges.length === 0) {
    return (
      <div className={styles.empty}>
        <Empty icon="playground" title="Ask a model something">
          <p>The most that a request can cost is held before it starts. Its exact cost stands below the reply.</p>
        </Empty>
      </div>
    );
  }
  const isRunning = exchanges.some(({ state }) => state === 'running');
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it.
    <div className={styles.scroll} tabIndex={0} role="log" aria-label="Messages" aria-busy={isRunning}>
      <div className={styles.exchanges}>
        {exchanges.map((exchange, at) => (
          <ExchangeView key={exchange.id} exchange={exchange} onRetry={at === exchanges.length - 1 ? onRetry : undefined} />
        ))}
        <Total exchanges={exchanges} />
      </div>
    </div>
  );
}

const ExchangeView = memo(function ExchangeView({
  exchange,
  onRetry,
}: {
  exchange: Exchange;
  onRetry: ((question: string) => void) | undefined;
}) {
  const { question, model, state, text, reasoning, failure } = exchange;
  return (
    <>
      <p className={styles.question}>{question}</p>
      <div className={styles.reply}>
        <p className={styles.faint}>{model}</p>
        {reasoning && (
          <details className={styles.reasoning}>
            <summary>Reasoning</summary>
            <p>{reasoning}</p>
          </details>
        )}
        {text && <p className={styles.text}>{text}</p>}
        {state === 'running' && !text && <p className={styles.faint}>Waiting for the model…</p>}
        {failure && <Failure error={failure} onRetry={onRetry && (() => onRetry(question))} />}
        {state !== 'running' && <Facts exchange={exchange} />}
      </div>
    </>
  );
});

/** What a reply cost and how long it took, with the way to its explanation. */
function Facts({ exchange: { state, bill, finishReason, firstContentMs, tookMs, requestId } }: { exchange: Exchange }) {
  const settlement = bill?.settlement;
  return (
    <p className={styles.facts}>
      {state === 'stopped' && <Badge tone="warn">Stopped</Badge>}
      {finishReason === 'length' && <Badge tone="warn">Cut off at the longest reply</Badge>}
      {bill && settlement && (
        <>
          <span>
            Cost <Money pico={settlement.costPicoUsd} /> of <Money pico={bill.heldPicoUsd} /> held
          </span>
          <span>
            {count(settlement.usage.promptTokens)} + {plural(settlement.usage.outputTokens, 'token')}
          </span>
        </>
      )}
      {firstContentMs !== null && <span>first content {duration(firstContentMs)}</span>}
      {tookMs !== null && <span>{duration(tookMs)}</span>}
      {requestId && <Link to={`/requests/${requestId}`}>Explain</Link>}
    </p>
  );
}

function Total({ exchanges }: { exchanges: readonly Exchange[] }) {
  const costs = exchanges.flatMap(({ bill }) => bill?.settlement?.costPicoUsd ?? []);
  if (costs.length < 2) return null;
  return (
    <p className={styles.total}>
      {plural(costs.length, 'request')} cost <Money pico={costs.reduce((sum, cost) => sum + BigInt(cost), 0n)} />
    </p>
  );
}
