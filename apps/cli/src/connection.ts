import { readFileSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import { ConfigError } from '#config/load-config.js';
import { connectMessaging } from '#messaging/connect-messaging.js';
import { type Messaging, MessagingError } from '#messaging/messaging.js';
import { type NatsAccess, natsAccess } from '#messaging/nats-access.js';
import { createLogger } from '#observability/logger.js';
import type { CliConfig } from './cli.config.js';

const USER = 'cli';
const CONNECT_TIMEOUT_MS = 2_000;
const ANSWER_TIMEOUT_MS = 5_000;

type ConnectionSettings = Omit<NatsAccess, 'user'>;

/** Returns the settings, or those that `npm start` wrote to `.local/` of `folder`, or `tollgate-server` to `.tollgate/`. @throws ConfigError that names missing settings */
export function connectionSettings(config: CliConfig, folder: string): ConnectionSettings {
  const { natsCliSeed: natsSeed, natsCaFile, natsCertFile, natsKeyFile } = config;
  const natsUrl = config.natsUrl || readLocal(folder, 'demo.json')?.natsUrl;
  const natsPassword = config.natsCliPassword || (natsSeed ? '' : readLocal(folder, 'secrets.json')?.natsPasswords?.cli);
  if (!natsUrl || !(natsPassword || natsSeed)) {
    const missing = [...(natsUrl ? [] : ['NATS_URL']), ...(natsPassword || natsSeed ? [] : ['NATS_CLI_SEED or NATS_CLI_PASSWORD'])];
    throw new ConfigError(
      `${missing.join(' and ')} not set, and not found in .local or .tollgate of ${folder}, where npm start and tollgate-server write it`,
    );
  }
  return natsAccess({ natsUrl, natsUser: USER, natsPassword, natsSeed, natsCaFile, natsCertFile, natsKeyFile });
}

/** Connects as user `cli`. Fails after two seconds, and at once on refused credentials. */
export async function connectCli(settings: ConnectionSettings): Promise<Messaging> {
  try {
    return await connectMessaging({
      ...settings,
      user: USER,
      service: 'cli',
      logger: createLogger('cli', 'silent'),
      actor: { actor: `cli/${osUser()}@${hostname()}` },
      requestTimeoutMs: ANSWER_TIMEOUT_MS,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
    });
  } catch (error) {
    if (!(error instanceof MessagingError)) throw error;
    throw new MessagingError(error.kind, `${listHosts(settings.url)}: ${error.message}`, { cause: error });
  }
}

/** Returns the name of the user of this process, or its number in a container that has no name for it. */
function osUser(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.());
  }
}

/** Hosts of the NATS servers, without the credentials that a URL may contain. */
function listHosts(url: string): string {
  return url
    .split(',')
    .map((server) => server.trim())
    .map((server) => (URL.canParse(server) && new URL(server).host) || server.replace(/^.*@/, ''))
    .join(', ');
}

/** Fields that `npm start` writes: `natsUrl` to demo.json, `natsPasswords` to secrets.json. */
interface LocalFile {
  natsUrl?: string;
  natsPasswords?: { cli?: string };
}

/** Undefined when the file does not exist. */
function readLocal(folder: string, file: string): LocalFile | undefined {
  for (const path of ['.local', '.tollgate'].map((name) => join(folder, name, file))) {
    try {
      return JSON.parse(readFileSync(path, 'utf8'));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        throw new ConfigError(`cannot read ${path}: ${(error as NodeJS.ErrnoException).code ?? 'not JSON'}`);
    }
  }
  return undefined;
}
