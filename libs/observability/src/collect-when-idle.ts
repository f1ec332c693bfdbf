import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const LOOK_EVERY_MS = 3_000;
/** Busy for less than this share of the time since the last look, nobody is kept waiting by a collection. */
const IDLE_UTILIZATION_MAX = 0.05;
const GROWTH_BYTES_MIN = 48 * 1024 * 1024;

/**
 * Gives memory back when there is nothing else to do. V8 collects while it allocates: a process that has handled large
 * bodies and then rests would keep their remains, some hundred megabytes, until the next large one comes. Takes some tens
 * of milliseconds, only when the loop is idle, and only after the heap has grown since the last time. Returns how to stop.
 */
export function collectWhenIdle({ lookEveryMs = LOOK_EVERY_MS, collect = collector(), usedBytes = readUsedBytes } = {}): () => void {
  let lastLook = performance.eventLoopUtilization();
  let keptBytes = usedBytes();
  const timer = setInterval(() => {
    const look = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(look, lastLook);
    lastLook = look;
    const used = usedBytes();
    keptBytes = Math.min(keptBytes, used); // V8 may have collected by itself
    if (utilization > IDLE_UTILIZATION_MAX || used < keptBytes + GROWTH_BYTES_MIN) return;
    collect();
    keptBytes = usedBytes();
  }, lookEveryMs).unref();
  return () => clearInterval(timer);
}

function collector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}

function readUsedBytes(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
