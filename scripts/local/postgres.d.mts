export interface LocalPostgres {
  url: string;
  /** Major version. */
  version: number;
  program: { command: string; args: string[]; env: Record<string, string>; uid?: number; gid?: number };
}

export function localPostgres(options: {
  dataDir: string;
  port: number;
  password: string;
  durable?: boolean;
  step: (name: string, work: () => Promise<unknown>) => Promise<unknown>;
}): Promise<LocalPostgres>;

/** Resolves to true when a server accepts sessions. */
export function postgresAnswers(host: string, port: number): Promise<boolean>;
