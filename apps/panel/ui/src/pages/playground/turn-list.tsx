import { memo } from 'react';
import { Link } from 'wouter';
import { count, plural } from '../../format/numbers.js';
import { Badge } from '../../parts/badge.js';
import { Money } from '../../parts/money.js';
import { Empty, Failure } from '../../parts/page.js';
import { duration } from '../../parts/time.js';
import styles from './playground.module.css';
import type { Turn } from './turn.js';

/** The conversation, its end in sight while it grows. */
export function TurnList({ turns, onRetry }: { turns: readonly Turn[]; onRetry: (question: string) => void }) {
  if (turns.length === 0) {
    return (
      <div className={styles.empty}>
        <Empty
          icon="playground"
          title="Ask a model something"
          text="The most that a request can cost is held before it starts. Its exact cost stands below the reply."
        />
      </div>
    );
  }
  const isRunning = turns.some(({ state }) => state === 'running');
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it.
    <div className={styles.scroll} tabIndex={0} role="log" aria-label="Messages" aria-busy={isRunning}>
      <div className={styles.turns}>
        {turns.map((turn, at) => (
          <TurnView key={turn.id} turn={turn} onRetry={at === turns.length - 1 ? onRetry : undefined} />
        ))}
        <Total turns={turns} />
      </div>
    </div>
  );
}

const TurnView = memo(function TurnView({ turn, onRetry }: { turn: Turn; onRetry: ((question: string) => void) | undefined }) {
  const { question, model, state, text, reasoning, failure } = turn;
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
        {state !== 'running' && <Facts turn={turn} />}
      </div>
    </>
  );
});

/** The cost and the time of a reply, with a link to its explanation. */
function Facts({ turn: { state, bill, finishReason, firstContentMs, tookMs, requestId } }: { turn: Turn }) {
  const settlement = bill?.settlement;
  return (
    <p className={styles.facts}>
      {state === 'stopped' && <Badge tone="warn">Stopped</Badge>}
      {finishReason === 'length' && <Badge tone="warn">Cut off at the longest reply</Badge>}
      {bill && settlement && (
        <>
          <span>
            Cost <Money pico={settlement.costPicoUsd} exact /> of <Money pico={bill.heldPicoUsd} exact /> held
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

function Total({ turns }: { turns: readonly Turn[] }) {
  const costs = turns.flatMap(({ bill }) => bill?.settlement?.costPicoUsd ?? []);
  if (costs.length < 2) return null;
  return (
    <p className={styles.total}>
      {plural(costs.length, 'request')} cost <Money pico={costs.reduce((sum, cost) => sum + BigInt(cost), 0n)} exact />
    </p>
  );
}
