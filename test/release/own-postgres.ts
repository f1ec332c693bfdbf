import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PidFile } from '../../scripts/local/pid-file.ts';
import { freePort } from '../../scripts/local/ports.ts';
import { localPostgres } from '../../scripts/local/postgres.ts';
import { createStatus } from '../../scripts/local/status.mjs';
import { Supervisor } from '../../scripts/local/supervisor.ts';
import { removeOwnedFolder } from '../../scripts/local/unprivileged.ts';

/** Starts a PostgreSQL of this machine with an empty database, which stands for that of an operator. */
export async function ownPostgres(): Promise<{ url: string; stop(): Promise<void> }> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-postgres-'));
  const { say, step } = createStatus({ quiet: true });
  const pidFile = await PidFile.claim(dataDir);
  const supervisor = new Supervisor({ logDir: join(dataDir, 'logs'), pidFile, say });
  const port = await freePort();
  const { url, program } = await localPostgres({ dataDir, port, password: 'ofthistest', durable: false, step });
  await supervisor.start(program);
  const stop = async (): Promise<void> => {
    await supervisor.stopAll();
    pidFile.release();
    removeOwnedFolder(dataDir, 'postgres');
    rmSync(dataDir, { recursive: true, force: true });
  };
  return { url, stop };
}
