import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { ProgramName, RunningStack, ServiceName, StackFacts } from '../../../scripts/local/stack.mjs';
import { requiredVariable } from './test-environment.js';

/** Where a running system is reached: addresses, the demo account and its key, the passwords of the NATS users. */
export type StackInfo = StackFacts;
export type { ProgramName, RunningStack, ServiceName };

const LOCAL = fileURLToPath(new URL('../../../.local/', import.meta.url));

/** The system all end-to-end tests share: make a tenant of your own in it, and leave it running. */
export function stack(): StackInfo {
  return JSON.parse(requiredVariable('TEST_STACK')) as StackInfo;
}

/**
 * A system of the test's own, for killing its parts or for other settings; takes a few seconds. `env` goes to every
 * service, `serviceEnv` to one. It has no demo account. `durable` is for who kills Postgres: otherwise what it has last committed is lost with it.
 * Stopping it removes its data.
 */
export async function startPrivateStack(
  options: {
    env?: Record<string, string>;
    serviceEnv?: Partial<Record<ServiceName, Record<string, string>>>;
    services?: ServiceName[];
    durable?: boolean;
  } = {},
): Promise<RunningStack> {
  const { removeStack, startStack } = await import('../../../scripts/local/stack.mjs');
  const dataDir = `${LOCAL}test-${randomUUID()}`;
  const running = await startStack({ durable: false, demo: false, ...options, dataDir, quiet: true });
  return {
    ...running,
    stop: async () => {
      await running.stop();
      removeStack(dataDir);
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
