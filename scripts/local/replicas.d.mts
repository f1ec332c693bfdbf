import type { StackFacts } from './stack.mjs';

/** A command of the supervisor. It may have more fields, which `wrap` keeps. */
export interface Program {
  command: string;
  args: string[];
  env: Record<string, string>;
  cwd: string;
}

export interface Replica {
  /** Unique. */
  name: string;
  service: 'gateway' | 'inference-proxy' | 'billing' | 'catalog' | 'panel';
  /** Overrides of its settings, such as `GATEWAY_URL` of a panel that calls the gateway. */
  env?: Record<string, string>;
  /** Another checkout, installed and built, whose program runs. Default: this one. */
  root?: string;
  /** Returns another program that starts the service, such as its image. */
  wrap?: (program: Program) => Program;
  /** Ports of 127.0.0.1 that replace those of the servers. */
  via?: { nats?: number; postgres?: number };
}

export interface RunningReplicas {
  /** URL of each gateway, by name. */
  gatewayUrls: Record<string, string>;
  /** Origin of each panel, by name. */
  panelUrls: Record<string, string>;
  logDir: string;
  /** Undefined between the end of a process and its restart. */
  pid(name: string): number | undefined;
  pids(): Record<string, number>;
  /** Sends a signal, SIGKILL by default, and resolves when the process has ended. The supervisor restarts it: see `ready`. */
  kill(name: string, signal?: NodeJS.Signals): Promise<void>;
  ready(name: string): Promise<void>;
  /** Stops a replica gracefully and starts it from the checkout `root`; from this one without it. Resolves when it is ready. */
  replace(name: string, root?: string): Promise<void>;
  stop(): Promise<void>;
}

/** The stack must have a Postgres of its own. Stop the replicas before the stack. */
export function startReplicas(stack: StackFacts, replicas: Replica[]): Promise<RunningReplicas>;
