import type { StackFacts } from './stack.mjs';

export interface Replica {
  /** Unlike every other's. */
  name: string;
  service: 'gateway' | 'inference-proxy' | 'billing' | 'catalog';
  /** Settings; they override what it would get. */
  env?: Record<string, string>;
  /** Ports of 127.0.0.1 where it finds the servers, if not at their own. */
  via?: { nats?: number; postgres?: number };
}

export interface RunningReplicas {
  /** Of each gateway, by its name. */
  gatewayUrls: Record<string, string>;
  logDir: string;
  /** Undefined for the moment between a death and the next life. */
  pid(name: string): number | undefined;
  /** Signals it (SIGKILL unless said otherwise) and resolves when the process is gone. It comes back by itself, see `ready`. */
  kill(name: string, signal?: NodeJS.Signals): Promise<void>;
  ready(name: string): Promise<void>;
  stop(): Promise<void>;
}

/** The stack must run on a Postgres of its own. Stop the replicas before the stack. */
export function startReplicas(stack: StackFacts, replicas: Replica[]): Promise<RunningReplicas>;
