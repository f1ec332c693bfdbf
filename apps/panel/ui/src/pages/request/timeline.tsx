import type { ReactNode } from 'react';
import type { BilledRequest } from '../../../../src/api/shapes/requests.js';
import { ENDINGS } from '../../app/endings.js';
import type { Tone } from '../../parts/badge.js';
import { Card, Skeleton } from '../../parts/card.js';
import { count } from '../../parts/count.js';
import { Moment } from '../../parts/moment.js';
import { Money } from '../../parts/money.js';
import { duration } from '../../parts/time.js';
import styles from './timeline.module.css';

interface Step {
  at: string;
  title: string;
  about: ReactNode;
  tone: Tone;
}

/** The events of a request in order, with the time since its start. */
export function Timeline({ request }: { request: BilledRequest | undefined }) {
  const steps = request && stepsOf(request);
  return (
    <Card title="Timeline">
      <ol className={styles.timeline}>
        {steps && request
          ? steps.map(({ at, title, about, tone }) => (
              <li key={title} data-tone={tone}>
                <div className={styles.when}>
                  <Moment at={at} format="time" />
                  <span className={styles.after}>
                    {at === request.reservedAt ? '' : `+${duration(Date.parse(at) - Date.parse(request.reservedAt))}`}
                  </span>
                </div>
                <div>
                  <h3>{title}</h3>
                  <p>{about}</p>
                </div>
              </li>
            ))
          : [1, 2].map((at) => (
              <li key={at}>
                <Skeleton width="8rem" />
              </li>
            ))}
      </ol>
      {request && !request.settlement && <p className={styles.running}>The request is running.</p>}
    </Card>
  );
}

const SETTLERS = { gateway: 'the gateway', 'inference-proxy': 'the inference-proxy', reaper: 'the reaper' } as const;

function stepsOf({ reservedAt, heldPicoUsd, settlement, model }: BilledRequest): Step[] {
  const steps: Step[] = [
    {
      at: reservedAt,
      title: 'Hold made',
      about: (
        <>
          <Money pico={heldPicoUsd} /> set aside for {model}. Key, limits and funds were in order.
        </>
      ),
      tone: 'accent',
    },
  ];
  if (!settlement) return steps;
  const { reaped, reason, settledBy, settledAt, usage } = settlement;
  if (reaped) {
    steps.push({
      at: reaped.settledAt,
      title: 'Charged by the reaper',
      about: (
        <>
          The lease ended before a service settled: <Money pico={reaped.costPicoUsd} /> for the last meter reading.
        </>
      ),
      tone: 'warn',
    });
  }
  steps.push({
    at: settledAt,
    title: reaped ? 'Corrected by a late settlement' : `${ENDINGS[reason].name}, settled`,
    about: (
      <>
        <Money pico={settlement.costPicoUsd} /> for {count(usage.promptTokens)} prompt and {count(usage.outputTokens)} output tokens
        {settledBy && `, settled by ${SETTLERS[settledBy]}`}.
      </>
    ),
    tone: ENDINGS[reason].tone,
  });
  return steps;
}
