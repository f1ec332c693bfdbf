import type { ReactNode } from 'react';
import type { BilledRequest } from '../../../../src/shapes/billing.js';
import type { EndedRequest } from '../../../../src/shapes/overview.js';
import { REASONS, type Tone } from '../../data/outcomes.js';
import { count } from '../../format/numbers.js';
import { Moment } from '../../parts/moment.js';
import { Money } from '../../parts/money.js';
import { Card, Skeleton } from '../../parts/page.js';
import { duration } from '../../parts/time.js';
import { describeCourse } from './course.js';
import styles from './timeline.module.css';

interface Step {
  at: string;
  title: string;
  about: ReactNode;
  tone: Tone;
}

interface TimelineProps {
  /** Undefined while it loads, or for a refused request, of which billing knows nothing. */
  request: BilledRequest | undefined;
  /** Undefined while it loads; null when the panel did not record it. */
  activity: EndedRequest | null | undefined;
}

/** The events of a request in order, with the time since its start. */
export function Timeline({ request, activity }: TimelineProps) {
  const steps = listSteps(request, activity);
  const startedAt = steps[0]?.at ?? '';
  return (
    <Card title="Timeline">
      <ol className={styles.timeline}>
        {steps.length > 0
          ? steps.map(({ at, title, about, tone }) => (
              <li key={title} data-tone={tone}>
                <div className={styles.when}>
                  <Moment at={at} format="time" />
                  <span className={styles.after}>
                    {at === startedAt ? '' : `+${duration(Math.max(0, Date.parse(at) - Date.parse(startedAt)))}`}
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
      {request?.settlement && activity === null && (
        <p className={styles.running}>The panel has no record of its calls: it was not running, or too long ago.</p>
      )}
    </Card>
  );
}

function listSteps(request: BilledRequest | undefined, activity: EndedRequest | null | undefined): Step[] {
  const course = activity ? gatewaySteps(activity) : [];
  if (!request) return course;
  const [received, ...rest] = course;
  const end = rest.splice(-1);
  const bill = billSteps(request);
  // The clocks of the gateway and of the database may differ, so the order is not that of the moments. A reply ends after its settlement.
  const ending = request.settlement?.reaped ? [...end, ...bill] : [...bill, ...end];
  return [...(received ? [received] : []), holdStep(request), ...rest, ...ending];
}

function gatewaySteps(activity: EndedRequest): Step[] {
  const start = Date.parse(activity.receivedAt);
  return describeCourse(activity).map(({ ms, title, about, tone }) => ({ at: new Date(start + ms).toISOString(), title, about, tone }));
}

function holdStep({ reservedAt, heldPicoUsd, model }: BilledRequest): Step {
  return {
    at: reservedAt,
    title: 'Hold made',
    about: (
      <>
        <Money pico={heldPicoUsd} exact /> set aside for {model}. Key, limits and funds were in order.
      </>
    ),
    tone: 'accent',
  };
}

const SETTLERS = { gateway: 'the gateway', 'inference-proxy': 'the inference-proxy', reaper: 'the reaper' } as const;

function billSteps({ settlement }: BilledRequest): Step[] {
  if (!settlement) return [];
  const { reaped, reason, settledBy, settledAt, usage } = settlement;
  const charge: Step = {
    at: settledAt,
    title: reaped ? 'Corrected by a late settlement' : `${REASONS[reason].name}, settled`,
    about: (
      <>
        <Money pico={settlement.costPicoUsd} exact /> for {count(usage.promptTokens)} prompt and {count(usage.outputTokens)} output tokens
        {settledBy && `, settled by ${SETTLERS[settledBy]}`}.
      </>
    ),
    tone: REASONS[reason].tone,
  };
  if (!reaped) return [charge];
  const reaping: Step = {
    at: reaped.settledAt,
    title: 'Charged by the reaper',
    about: (
      <>
        The lease ended before a service settled: <Money pico={reaped.costPicoUsd} exact /> for the last meter reading.
      </>
    ),
    tone: 'warn',
  };
  return [reaping, charge];
}
