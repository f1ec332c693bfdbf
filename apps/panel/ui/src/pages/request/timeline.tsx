import type { ReactNode } from 'react';
import type { BilledRequest, RequestBill } from '../../../../src/shapes/billing.js';
import type { EndedRequest } from '../../../../src/shapes/overview.js';
import { REASONS } from '../../data/outcomes.js';
import { count, plural } from '../../format/numbers.js';
import { Moment } from '../../parts/moment.js';
import { Money } from '../../parts/money.js';
import { Card, Skeleton } from '../../parts/page.js';
import { duration } from '../../parts/time.js';
import { type CourseStep, describeCourse, inOrder } from './course.js';
import { placeBill } from './place-bill.js';
import styles from './timeline.module.css';

interface Step extends Omit<CourseStep, 'about'> {
  about: ReactNode;
}

interface TimelineProps {
  /** Undefined while it loads, or for a refused request, of which billing knows nothing. */
  request: BilledRequest | undefined;
  /** Undefined while it loads; null when the panel did not record it. */
  activity: EndedRequest | null | undefined;
}

/** The events of a request in order, with the time since its start, and bars for what took time. */
export function Timeline({ request, activity }: TimelineProps) {
  const steps = listSteps(request, activity ?? undefined);
  const startMs = Date.parse(activity?.receivedAt ?? request?.reservedAt ?? '');
  const totalMs = Math.max(1, ...steps.map(({ ms }) => ms));
  return (
    <Card title="Timeline" note={Number.isFinite(startMs) && <Moment at={new Date(startMs).toISOString()} format="day" named />}>
      <ol className={styles.timeline}>
        {steps.length > 0
          ? steps.map(({ ms, bar, title, about, tone }) => (
              <li key={title} data-tone={tone}>
                <div className={styles.when}>
                  <Moment at={new Date(startMs + ms).toISOString()} format="time" />
                  <span className={styles.after}>{ms === 0 ? '' : `+${duration(ms)}`}</span>
                </div>
                <div>
                  <h3>{title}</h3>
                  <p>{about}</p>
                  <TimeBar fromMs={bar?.fromMs ?? ms} toMs={bar?.toMs ?? ms} totalMs={totalMs} />
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

/** Events of one moment are in the order in which they follow from one another. */
function listSteps(request: BilledRequest | undefined, activity: EndedRequest | undefined): Step[] {
  const course = activity ? describeCourse(activity) : [];
  if (!request) return course;
  const [held, ...charges] = billSteps(request, activity);
  return inOrder([...course.slice(0, 1), held, ...course.slice(1, -1), ...charges, ...course.slice(1).slice(-1)]);
}

/** A time on the axis of the whole request; a moment is a thin mark. The texts beside it have the same numbers. */
function TimeBar({ fromMs, toMs, totalMs }: { fromMs: number; toMs: number; totalMs: number }) {
  const from = Math.min(99.5, (fromMs / totalMs) * 100);
  const width = Math.max(0.5, Math.min(100, (toMs / totalMs) * 100) - from);
  return (
    <svg className={styles.bar} aria-hidden="true">
      <rect width="100%" height="6" rx="3" />
      <rect className={styles.time} x={`${from}%`} width={`${width}%`} height="6" rx="1" />
    </svg>
  );
}

const SETTLERS = { gateway: 'the gateway', 'inference-proxy': 'the inference-proxy', reaper: 'the reaper' } as const;

/** The hold, then the settlement. */
function billSteps(request: BilledRequest, activity: EndedRequest | undefined): [Step, ...Step[]] {
  const { heldMs, reapedMs, settledMs } = placeBill(request, activity);
  const { settlement, heldPicoUsd, model } = request;
  const held: Step = {
    ms: heldMs,
    ...(heldMs > 0 && { bar: { fromMs: 0, toMs: heldMs } }),
    title: 'Hold made',
    about: (
      <>
        <Money pico={heldPicoUsd} exact /> set aside for {model}. Key, limits and funds were in order.
      </>
    ),
    tone: 'accent',
  };
  if (!settlement || settledMs === undefined) return [held];
  const { reaped, reason, settledBy, usage } = settlement;
  const charge: Step = {
    ms: settledMs,
    title: reaped ? 'Corrected by a late settlement' : `${REASONS[reason].name}, settled`,
    about: (
      <>
        <Money pico={settlement.costPicoUsd} exact /> for {describeUsage(usage)}
        {settledBy && `, settled by ${SETTLERS[settledBy]}`}.
      </>
    ),
    tone: REASONS[reason].tone,
  };
  if (!reaped || reapedMs === undefined) return [held, charge];
  const reaping: Step = {
    ms: reapedMs,
    title: 'Charged by the reaper',
    about: (
      <>
        The lease ended before a service settled: <Money pico={reaped.costPicoUsd} exact /> for the last meter reading.
      </>
    ),
    tone: 'warn',
  };
  return [held, reaping, charge];
}

function describeUsage({ quantity, promptTokens, outputTokens }: RequestBill['usage']): string {
  if (quantity !== undefined) return plural(quantity, 'unit');
  return `${count(promptTokens)} prompt and ${count(outputTokens)} output tokens`;
}
