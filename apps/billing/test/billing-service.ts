import { connectMessaging } from '#messaging/connect-messaging.js';
import type { Messaging } from '#messaging/messaging.js';
import { createLogger } from '#observability/logger.js';
import { startNatsWithUsers, TEST_NATS_PASSWORD } from '#testing/nats-with-users.js';
import { createTestDatabase } from '#testing/test-database.js';
import { BillingConfig } from '../src/billing.config.js';
import { startBilling } from '../src/start-billing.js';

export interface BillingService {
  natsUrl: string;
  /** Connects as a user of config/nats.conf. Closed with the service. */
  connect(user: 'cli' | 'gateway' | 'internal' | 'inference-proxy'): Promise<Messaging>;
  stop(): Promise<void>;
}

/** The whole service on real NATS, with the users and permissions of config/nats.conf, and a Postgres database of its own. */
export async function startBillingService(settings: Partial<BillingConfig> = {}): Promise<BillingService> {
  const logger = createLogger('test', 'silent');
  const [database, nats] = await Promise.all([createTestDatabase(), startNatsWithUsers()]);
  const connections: Messaging[] = [];
  const config = Object.assign(new BillingConfig(), {
    natsUrl: nats.url,
    natsUser: 'billing',
    natsPassword: TEST_NATS_PASSWORD,
    databaseUrl: database.serviceUrls.billing,
    keyPepper: 'p'.repeat(32),
    opsPort: 0,
    ...settings,
  });
  const stop = await startBilling(config, logger);
  return {
    natsUrl: nats.url,
    connect: async (user) => {
      const messaging = await connectMessaging({ url: nats.url, user, password: TEST_NATS_PASSWORD, service: user, logger });
      connections.push(messaging);
      return messaging;
    },
    stop: async () => {
      await Promise.all(connections.map((connection) => connection.close()));
      await stop();
      await nats.stop();
      await database.drop();
    },
  };
}
