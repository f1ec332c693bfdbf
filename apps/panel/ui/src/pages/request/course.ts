import type { EndedRequest, RequestAttempt } from '../../../../src/shapes/overview.js';
import { outcomeName, outcomeTone, type Tone, toOutcome } from '../../data/outcomes.js';
import { count } from '../../format/numbers.js';
import { duration } from '../../parts/time.js';

/** An event of a request at its gateway. */
export interface CourseStep {
  /** Milliseconds since the gateway received the request. */
  ms: number;
  /** Time that the event took, or led to it. Absent: it took none. */
  bar?: { fromMs: number; toMs: number };
  title: string;
  about: string;
  tone: Tone;
}

const FORMATS = { chat: 'Chat Completions', responses: 'Responses', messages: 'Messages' } as const;

/** The events of a request at its gateway, without its hold and its settlement, in the order of time. */
export function describeCourse(activity: EndedRequest): CourseStep[] {
  const { protocol, stream, model, attempts = [], firstContentMs, lastContentMs, endedMs } = activity;
  const asked = `${FORMATS[protocol]}, ${stream ? 'streamed' : 'plain'}${model ? `, for ${model}` : ''}.`;
  const steps: CourseStep[] = [
    { ms: 0, title: 'Received', about: asked, tone: 'neutral' },
    ...attempts.map((attempt, at) => describeAttempt(attempt, at + 1, attempts.length)),
  ];
  if (firstContentMs !== undefined && stream) {
    steps.push({ ms: firstContentMs, title: 'First content', about: 'The client began to get the reply.', tone: 'good' });
  }
  if (lastContentMs !== undefined) {
    const bar = firstContentMs !== undefined && stream ? { bar: { fromMs: firstContentMs, toMs: lastContentMs } } : {};
    steps.push({ ms: lastContentMs, ...bar, title: 'Reply complete', about: 'The model has ended.', tone: 'good' });
  }
  steps.push({ ms: endedMs, ...describeEnd(activity) });
  return inOrder(steps);
}

/** Sorts events by time; those of one moment stay in their order. */
export function inOrder<Step extends { ms: number }>(steps: readonly Step[]): Step[] {
  return steps.toSorted((one, other) => one.ms - other.ms);
}

function describeAttempt(attempt: RequestAttempt, number: number, total: number): CourseStep {
  const { upstream, startMs, firstByteMs, endMs, failure, status, reason } = attempt;
  const parts = [
    firstByteMs === undefined ? 'no byte came' : `first byte after ${duration(firstByteMs - startMs)}`,
    ...(endMs === undefined ? ['read on for its usage'] : []),
    ...(endMs !== undefined && failure
      ? [`failed after ${duration(endMs - startMs)}: ${failureText(failure)}${status === undefined ? '' : `, status ${status}`}`]
      : []),
    ...(endMs !== undefined && !failure ? [`ended after ${duration(endMs - startMs)}`] : []),
  ];
  const about = `${parts.join(', ')}.${reason === undefined ? '' : ` Reason: ${reason}.`}`;
  return {
    ms: startMs,
    ...(endMs !== undefined && { bar: { fromMs: startMs, toMs: endMs } }),
    title: total === 1 ? `Call of ${upstream}` : `Call ${number} of ${count(total)}, ${upstream}`,
    about: about[0]?.toUpperCase() + about.slice(1),
    tone: failure ? 'bad' : 'accent',
  };
}

function describeEnd(activity: EndedRequest): Omit<CourseStep, 'ms'> {
  const outcome = toOutcome(activity);
  const tone = outcomeTone(outcome);
  if (outcome.code === 'client_disconnected') return { title: 'Client left', about: 'It closed the connection.', tone };
  if (outcome.code === null) return { title: `Answered with ${outcome.status}`, about: 'The reply was written.', tone };
  const about = activity.outcome === undefined ? 'The request was refused.' : 'The client got this error.';
  return { title: `Ended with ${outcomeName(outcome)}`, about, tone };
}

const FAILURES: Record<string, string> = {
  unreachable: 'no connection was made',
  stale: 'a reused connection had been closed',
  unanswered: 'the connection closed before a reply',
  refused: 'the upstream answered with an error',
  denied: 'the upstream refused the operator’s key',
  credential: 'there was no token or signature for the upstream',
  rejected: 'the upstream rejected the request',
  timeout: 'a time limit passed',
  slow: 'the whole reply took too long',
  broken: 'the reply ended early or was malformed',
  empty: 'the reply had no content',
  limit: 'the reply exceeded a limit',
};

function failureText(kind: string): string {
  return FAILURES[kind] ?? kind;
}
