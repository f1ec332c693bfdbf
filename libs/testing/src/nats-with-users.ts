import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startNatsServer, type TestNatsServer } from './nats-server.js';

const CONFIG = new URL('../../../config/nats.conf', import.meta.url);

/** The password of every user of `startNatsWithUsers`. */
export const TEST_NATS_PASSWORD = 'test';

/** A nats-server with the users and permissions of `config/nats.conf`. */
export async function startNatsWithUsers(): Promise<TestNatsServer> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-nats-'));
  const file = join(folder, 'nats.conf');
  await writeFile(file, (await readFile(CONFIG, 'utf8')).replace(/\$NATS_\w+_PASSWORD/g, TEST_NATS_PASSWORD));
  const server = await startNatsServer(['-c', file]);
  return {
    ...server,
    stop: async () => {
      await server.stop();
      await rm(folder, { recursive: true });
    },
  };
}
