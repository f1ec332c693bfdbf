export type ServiceName = 'billing' | 'catalog' | 'upstream-sim' | 'inference-proxy' | 'gateway';
export type ProgramName = ServiceName | 'postgres' | 'nats';
export type NatsUser = 'gateway' | 'billing' | 'catalog' | 'inference-proxy' | 'cli' | 'internal';

/** Where a running stack is reached, and its secrets. Plain JSON. */
export interface StackFacts {
  /** Without `/v1`. */
  gatewayUrl: string;
  /** The demo project's key, and whose it is. */
  apiKey: string;
  accountId: string;
  projectId: string;
  /** The owner's. */
  databaseUrl: string;
  natsUrl: string;
  natsPasswords: Record<NatsUser, string>;
  /** The simulated upstream, without `/v1`. */
  upstreamUrl: string;
  /** `/livez`, `/readyz` and `/metrics` of each service. */
  opsUrls: Record<ServiceName, string>;
  logDir: string;
}

export interface RunningStack extends StackFacts {
  /** Undefined for the moment between a death and the next life. */
  pid(name: ProgramName): number | undefined;
  pids(): Partial<Record<ProgramName, number>>;
  /** Signals it (SIGKILL unless said otherwise) and resolves when the process is gone. It comes back by itself, see `ready`. */
  kill(name: ProgramName, signal?: NodeJS.Signals): Promise<void>;
  /** Stops it gracefully until `resume`, which resolves when it is ready. */
  hold(name: ProgramName): Promise<void>;
  resume(name: ProgramName): Promise<void>;
  /** Resolves when it answers its probe: `/readyz` of a service. */
  ready(name: ProgramName): Promise<void>;
  /** Stops all it started, in order. */
  stop(): Promise<void>;
  /** Kills all it started, for when `stop` takes too long. */
  killAll(): void;
}

export interface StackOptions {
  /** Data, logs and secrets; one running stack a folder. */
  dataDir: string;
  /** The gateway's. 0, the default: a free one. */
  port?: number;
  /** Settings for every service, such as `{ LEASE_MS: '2000' }`. */
  env?: Record<string, string>;
  /** Settings for one service. */
  serviceEnv?: Partial<Record<ServiceName, Record<string, string>>>;
  /** Default: all. Without the gateway no demo account is made. */
  services?: ServiceName[];
  /** Servers that run already; absent: own ones. The database is migrated. */
  databaseUrl?: string;
  natsUrl?: string;
  /** Users of the services on that server; absent: they use `databaseUrl`. */
  serviceDatabaseUrls?: Partial<Record<'billing' | 'catalog', string>>;
  /** False: Postgres does not wait for the disk. */
  durable?: boolean;
  demo?: false | { usd?: string; requestsPerMinute?: number; concurrency?: number };
  quiet?: boolean;
  signal?: AbortSignal;
}

export function startStack(options: StackOptions): Promise<RunningStack>;

/** Forgets everything a stopped stack knew: data, secrets, the demo key, logs. */
export function removeStack(dataDir: string): void;
