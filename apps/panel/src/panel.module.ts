import { type DynamicModule, Global, Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR, APP_PIPE } from '@nestjs/core';
import { checkAuditChain } from '#database/audit-chain.js';
import { listAudit } from '#database/audit-journal.js';
import { type JournalReads, OPERATOR } from '#database/journal-reads.js';
import type { PrismaClient } from '#database/prisma-client.js';
import type { Messaging } from '#messaging/messaging.js';
import type { Logger } from '#observability/logger.js';
import { Activity } from './activity/activity.js';
import { ActivityRecorder } from './activity/activity-recorder.js';
import { LiveRequests } from './activity/live-requests.js';
import { TrafficDays } from './activity/traffic-days.js';
import { AccountsController } from './api/accounts.controller.js';
import { AuditJournals } from './api/audit/audit-journals.js';
import { AuditController } from './api/audit.controller.js';
import { BudgetsController } from './api/budgets.controller.js';
import { identityModule } from './api/identity.module.js';
import { KeysController } from './api/keys.controller.js';
import { LedgerController } from './api/ledger.controller.js';
import { LiveController } from './api/live.controller.js';
import { MailController } from './api/mail.controller.js';
import { ModelsController } from './api/models.controller.js';
import { MoneyController } from './api/money.controller.js';
import { LOGGER } from './api/operator.controller.js';
import { PlatformWarnings } from './api/overview/platform-warnings.js';
import { OverviewController, PROCESS_SERVICES } from './api/overview.controller.js';
import { PaymentsController } from './api/payments.controller.js';
import { PlaygroundController } from './api/playground.controller.js';
import { ProjectsController } from './api/projects.controller.js';
import { RequestsController } from './api/requests.controller.js';
import { StatementMailsController } from './api/statement-mails.controller.js';
import { TrafficController } from './api/traffic.controller.js';
import { UpstreamsController } from './api/upstreams.controller.js';
import { UsageController } from './api/usage.controller.js';
import { WebhooksController } from './api/webhooks.controller.js';
import { SummedRefusals } from './audit/summed-refusals.js';
import { BodyReader } from './http/body-reader.js';
import { CallerRates } from './http/caller-rates.js';
import { Credentials } from './http/credentials.js';
import { ErrorFilter } from './http/error.filter.js';
import type { PanelMetrics } from './http/panel-metrics.js';
import { PayloadPipe } from './http/payload.pipe.js';
import { PersonReads } from './http/person-reads.js';
import { CredentialsGuard, OriginGuard, PermissionGuard } from './http/route.guard.js';
import { DownloadsInterceptor, JournalReadsInterceptor, JsonBodyInterceptor } from './http/route.interceptor.js';
import { SessionCookie } from './http/session-cookie.js';
import { Sessions } from './identity/sessions.js';
import type { SsoProviderConfig } from './identity/sso/sso-provider.config.js';
import { Tokens } from './identity/tokens.js';
import { Mailer } from './mail/mailer.js';
import { Recipients } from './mail/recipients.js';
import { PanelConfig } from './panel.config.js';
import { Playground } from './playground/playground.js';
import { PlaygroundKeys } from './playground/playground-keys.js';
import { Services } from './services/services.js';
import { SendStatements } from './statements/send-statements.js';
import { StatementMails } from './statements/statement-mails.js';
import { StatementPdfs } from './statements/statement-pdfs.js';

export interface PanelDependencies {
  config: PanelConfig;
  logger: Logger;
  prisma: PrismaClient;
  /** Connections for sign-ins alone, so that no page waits for a flood of them. */
  signIns: PrismaClient;
  /** Reads of traffic, activity and the journal, on connections of their own. */
  reads: JournalReads;
  messaging: Messaging;
  /** Settings of the providers of OpenID Connect by name. */
  providers: ReadonlyMap<string, SsoProviderConfig>;
  /** Names of the services of this process: the panel, and others that share it. */
  processServices: readonly string[];
}

/** Global: people and sign-in (`identityModule`) are given what is shared. */
@Global()
@Module({})
class PanelModule {}

/**
 * The composition root: every object of the panel with its dependencies. Guards run in the order of the list, then the body is read and
 * checked, then the controller works.
 */
export function panelModule(
  { config, logger, prisma, signIns, reads, messaging, providers, processServices }: PanelDependencies,
  metrics: PanelMetrics,
): DynamicModule {
  const cookie = new SessionCookie(config.panelUrl);
  const origins = new Set([config.panelUrl, ...config.furtherOrigins]);
  const services = new Services(messaging);
  const mailer = new Mailer(config, metrics, logger);
  const pdfs = new StatementPdfs();
  const sessions = new Sessions(prisma);
  const tokens = new Tokens(prisma);
  const credentials = new Credentials(cookie, sessions, tokens, new CallerRates(config.personRequestsPerSecond));
  const refusals = new SummedRefusals(prisma, logger, metrics.refusalsSummed);
  const playgroundKeys = new PlaygroundKeys(services, sessions, logger);
  const value = (token: object, useValue: object) => ({ provide: token as never, useValue });
  return {
    module: PanelModule,
    imports: [identityModule({ config, prisma, signIns, providers, sessions, refusals, mailer, logger })],
    exports: [LOGGER, PanelConfig, AuditJournals, Mailer, Services, SessionCookie, Sessions, Tokens],
    controllers: [
      AccountsController,
      AuditController,
      BudgetsController,
      KeysController,
      LedgerController,
      LiveController,
      MailController,
      ModelsController,
      MoneyController,
      OverviewController,
      PaymentsController,
      PlaygroundController,
      ProjectsController,
      RequestsController,
      StatementMailsController,
      TrafficController,
      UpstreamsController,
      UsageController,
      WebhooksController,
    ],
    providers: [
      { provide: APP_GUARD, useValue: new OriginGuard(origins) },
      { provide: APP_GUARD, useValue: new CredentialsGuard(credentials) },
      { provide: APP_GUARD, useValue: new PermissionGuard() },
      { provide: APP_INTERCEPTOR, useValue: new DownloadsInterceptor() },
      { provide: APP_INTERCEPTOR, useValue: new JournalReadsInterceptor(new PersonReads()) },
      { provide: APP_INTERCEPTOR, useValue: new JsonBodyInterceptor(new BodyReader()) },
      { provide: APP_PIPE, useValue: new PayloadPipe() },
      { provide: APP_FILTER, useValue: new ErrorFilter(cookie, refusals, logger) },
      { provide: LOGGER, useValue: logger },
      { provide: PROCESS_SERVICES, useValue: processServices },
      value(PanelConfig, config),
      value(Services, services),
      value(Mailer, mailer),
      value(Recipients, new Recipients(prisma, mailer)),
      value(StatementPdfs, pdfs),
      value(StatementMails, new StatementMails(prisma, mailer)),
      value(SendStatements, new SendStatements({ prisma, services, mailer, pdfs, logger, panelUrl: config.panelUrl })),
      value(PlatformWarnings, new PlatformWarnings(services)),
      value(
        AuditJournals,
        new AuditJournals(services, {
          list: (query, reader) => reads.read(reader, ['audit', query], (pool) => listAudit(pool, 'panel', query)),
          check: () => reads.read(OPERATOR, ['audit-chain'], (pool) => checkAuditChain(pool, 'panel')),
        }),
      ),
      value(SummedRefusals, refusals),
      value(Credentials, credentials),
      value(SessionCookie, cookie),
      value(Sessions, sessions),
      value(Tokens, tokens),
      value(Activity, new Activity(reads)),
      value(ActivityRecorder, new ActivityRecorder(prisma, messaging, logger, metrics, config.activityDays)),
      value(TrafficDays, new TrafficDays(prisma, logger)),
      value(LiveRequests, new LiveRequests(messaging)),
      value(PlaygroundKeys, playgroundKeys),
      value(Playground, new Playground(playgroundKeys, config.ownGatewayUrl)),
    ],
  };
}
