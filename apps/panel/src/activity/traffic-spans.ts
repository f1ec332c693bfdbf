import type { PrismaClient } from '#database/prisma-client.js';
import type { TrafficStep } from '../shapes/overview.js';

const DAY_MS = 86_400_000;

/** A part of a time, and the table that has its traffic: its rows from `from` to before `to`. */
export interface TrafficSpan {
  table: 'traffic_minute' | 'traffic_hour' | 'traffic_day';
  from: Date;
  to: Date;
}

/** Returns the spans that make up a time, each minute or hour in one of them: the whole days that are added up, and hours around them. */
export async function findSpans(prisma: PrismaClient, step: TrafficStep | undefined, from: Date, to: Date): Promise<TrafficSpan[]> {
  if (step === 'minute') return [{ table: 'traffic_minute', from, to }];
  const hours: TrafficSpan = { table: 'traffic_hour', from, to };
  if (step === 'hour' || to.getTime() - from.getTime() < DAY_MS) return [hours];
  const [days] = await prisma.$queryRaw<{ first: Date | null; last: Date | null }[]>`
    SELECT min(at) AS first, max(at) AS last FROM activity.traffic_day`;
  const firstDay = Math.max(Math.ceil(from.getTime() / DAY_MS) * DAY_MS, days?.first?.getTime() ?? Number.POSITIVE_INFINITY);
  const end = Math.min(Math.floor(to.getTime() / DAY_MS) * DAY_MS, (days?.last?.getTime() ?? 0) + DAY_MS);
  if (firstDay >= end) return [hours];
  const spans: TrafficSpan[] = [
    { ...hours, to: new Date(firstDay) },
    { table: 'traffic_day', from: new Date(firstDay), to: new Date(end) },
    { ...hours, from: new Date(end) },
  ];
  return spans.filter((span) => span.from < span.to);
}
