import { randomUUIDv7 } from 'node:crypto';
import type { PrismaClient } from '#database/prisma-client.js';
import type { TrafficGap } from '../shapes/overview.js';

/** Milliseconds between two marks that a replica still records. */
export const MARK_MS = 10_000;
/** A mark may be this late before the present counts as a gap. */
const LATE_MARK_MS = 2 * MARK_MS;
const INTERVALS_MAX = 10_000;

interface Interval {
  startsAt: Date;
  endsAt: Date;
}

/** The time in which this replica records without a loss. After a loss another interval begins. */
export class Recording {
  private id: string | undefined;

  constructor(private readonly prisma: PrismaClient) {}

  /** Call when requests were lost, or may have been. */
  interrupt(): void {
    this.id = undefined;
  }

  /** Extends the interval to now. */
  async mark(): Promise<void> {
    const endsAt = new Date();
    if (this.id !== undefined) {
      await this.prisma.activityRecording.update({ where: { id: this.id }, data: { endsAt } });
      return;
    }
    const id = randomUUIDv7();
    await this.prisma.activityRecording.create({ data: { id, startsAt: endsAt, endsAt } });
    this.id = id;
  }
}

/** Returns the gaps between two moments, oldest first. The time before the first start of a panel is none: nothing was there to record. */
export async function readGaps(prisma: PrismaClient, from: Date, to: Date, now: Date): Promise<TrafficGap[]> {
  const intervals = await prisma.activityRecording.findMany({
    where: { endsAt: { gte: from }, startsAt: { lt: to } },
    orderBy: { startsAt: 'asc' },
    take: INTERVALS_MAX,
  });
  const first = await prisma.activityRecording.findFirst({ orderBy: { endsAt: 'asc' } });
  return gapsSince(first?.startsAt, findGaps(intervals, from, to < now ? to : now, now));
}

/** Returns the parts of gaps since a moment. Undefined: they stay whole. */
export function gapsSince(start: Date | undefined, gaps: readonly TrafficGap[]): TrafficGap[] {
  if (start === undefined) return [...gaps];
  const begin = start.toISOString();
  return gaps.filter(({ to }) => to > begin).map(({ from, to }) => ({ from: from > begin ? from : begin, to }));
}

/** `intervals` are in the order of their start, and may overlap. */
export function findGaps(intervals: readonly Interval[], from: Date, to: Date, now: Date): TrafficGap[] {
  const gaps: TrafficGap[] = [];
  let recordedTo = from;
  for (const { startsAt, endsAt } of intervals) {
    if (startsAt > recordedTo) gaps.push(toGap(recordedTo, startsAt));
    if (endsAt > recordedTo) recordedTo = endsAt;
  }
  const isRecording = intervals.length > 0 && now.getTime() - recordedTo.getTime() <= LATE_MARK_MS;
  if (recordedTo < to && !isRecording) gaps.push(toGap(recordedTo, to));
  return gaps;
}

function toGap(from: Date, to: Date): TrafficGap {
  return { from: from.toISOString(), to: to.toISOString() };
}
