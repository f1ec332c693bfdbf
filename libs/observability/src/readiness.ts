import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from './logger.js';

/** A dependency that the service needs to work. Only readiness checks it: liveness never depends on another process. */
export interface ReadinessCheck {
  name: string;
  check(): boolean | Promise<boolean>;
  /** The reason for the last result, for the operator. */
  detail?(): string | undefined;
}

interface Readiness {
  ready: boolean;
  /** Failed checks with their details. */
  missing: string[];
  /** Details of checks that passed. */
  notes: string[];
}

const POLL_MS = 100;

/** Runs every check. A check that throws has failed. */
export async function readiness(checks: readonly ReadinessCheck[]): Promise<Readiness> {
  const results = await Promise.all(checks.map(attempt));
  const named = (passed: boolean): string[] => results.flatMap((result) => (result.passed === passed ? result.text : []));
  const missing = named(false);
  return { ready: missing.length === 0, missing, notes: named(true) };
}

/** Resolves when every check has passed. Logs what is missing whenever it changes. */
export async function untilReady(checks: readonly ReadinessCheck[], logger: Pick<Logger, 'info'>): Promise<void> {
  let logged = '';
  for (;;) {
    const { ready, missing } = await readiness(checks);
    if (ready) return;
    if (missing.join() !== logged) logger.info({ missing }, 'waiting to become ready');
    logged = missing.join();
    await delay(POLL_MS);
  }
}

/** `text` is the name of a failed check and its detail, if any. For a passed check it is empty without a detail. */
async function attempt(one: ReadinessCheck): Promise<{ passed: boolean; text: string | [] }> {
  try {
    const passed = await one.check();
    const detail = one.detail?.();
    if (detail !== undefined) return { passed, text: `${one.name}: ${detail}` };
    return { passed, text: passed ? [] : one.name };
  } catch {
    return { passed: false, text: one.name };
  }
}
