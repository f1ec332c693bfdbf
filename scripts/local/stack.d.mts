export type ServiceName = 'billing' | 'catalog' | 'upstream-sim' | 'inference-proxy' | 'gateway' | 'panel';
export type ProgramName = ServiceName | 'postgres' | 'nats';
export type NatsUser = 'gateway' | 'billing' | 'catalog' | 'inference-proxy' | 'panel' | 'cli' | 'internal';

/** Addresses and secrets of a running stack, as plain JSON. */
export interface StackFacts {
  /** Without `/v1`. */
  gatewayUrl: string;
  /** Origin of the panel. */
  panelUrl: string;
  /** One-time link that makes the first admin; absent when there is an admin. */
  panelLink?: string;
  /** Key of the demo project, with its account and project. */
  apiKey: string;
  accountId: string;
  projectId: string;
  /** URL of the database owner. */
  databaseUrl: string;
  natsUrl: string;
  natsPasswords: Record<NatsUser, string>;
  /** The simulated upstream, without `/v1`. */
  upstreamUrl: string;
  /** `/livez`, `/readyz` and `/metrics` of each service. */
  opsUrls: Record<ServiceName, string>;
  logDir: string;
  /** The services run from their bundles. */
  bundled: boolean;
}

export interface RunningStack extends StackFacts {
  /** Undefined between the end of a process and its restart. */
  pid(name: ProgramName): number | undefined;
  pids(): Partial<Record<ProgramName, number>>;
  /** Sends a signal, SIGKILL by default, and resolves when the process has ended. The supervisor restarts it: see `ready`. */
  kill(name: ProgramName, signal?: NodeJS.Signals): Promise<void>;
  /** Stops a program gracefully until `resume`, which resolves when it is ready. */
  hold(name: ProgramName): Promise<void>;
  resume(name: ProgramName): Promise<void>;
  /** Resolves when its probe succeeds: `/readyz` of a service. */
  ready(name: ProgramName): Promise<void>;
  /** Stops all programs in order. */
  stop(): Promise<void>;
  /** Kills all programs, if `stop` takes too long. */
  killAll(): void;
}

export interface StackOptions {
  /** Folder of data, logs and secrets; one running stack each. */
  dataDir: string;
  /** Port of the gateway. 0, the default, takes a free one. */
  port?: number;
  /** Port of the panel. 0, the default, takes a free one. */
  panelPort?: number;
  /** Settings for every service, such as `{ LEASE_MS: '2000' }`. */
  env?: Record<string, string>;
  /** Settings for one service. */
  serviceEnv?: Partial<Record<ServiceName, Record<string, string>>>;
  /** Default: all. Without the gateway there is no demo account. */
  services?: ServiceName[];
  /** Existing servers; absent: starts its own. */
  databaseUrl?: string;
  natsUrl?: string;
  /** URLs of the services on that server; absent: `databaseUrl`. */
  serviceDatabaseUrls?: Partial<Record<'billing' | 'catalog' | 'panel', string>>;
  /** False: the database is migrated already, with its users. */
  migrate?: boolean;
  /** False: Postgres does not wait for the disk. */
  durable?: boolean;
  /** The services run from their bundles (scripts/testing/bundles.mjs), which start in half the time. Default: false. */
  bundled?: boolean;
  demo?: false | { usd?: string; requestsPerMinute?: number; concurrency?: number };
  quiet?: boolean;
  signal?: AbortSignal;
}

export function startStack(options: StackOptions): Promise<RunningStack>;

/** Deletes everything of a stopped stack: data, secrets, the demo key, logs. */
export function removeStack(dataDir: string): void;
