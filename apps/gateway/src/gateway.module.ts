import { type DynamicModule, type FactoryProvider, type InjectionToken, Module } from '@nestjs/common';
import { APP_FILTER, HttpAdapterHost } from '@nestjs/core';
import type { Registry } from 'prom-client';
import type { Messaging } from '#messaging/messaging.js';
import type { Logger } from '#observability/logger.js';
import type { Tracer } from '#tracing/tracer.js';
import { ApiKeys } from './clients/api-keys.js';
import { BillingClient } from './clients/billing.js';
import { BillingReplicas } from './clients/billing-replicas.js';
import { CatalogClient } from './clients/catalog.js';
import { InferenceClient } from './clients/inference.js';
import { OwnKeys } from './clients/own-keys.js';
import { PolicyClient } from './clients/policy.js';
import { QuoteKeys } from './clients/quote-keys.js';
import { ReceiptKeys } from './clients/receipt-keys.js';
import { ServiceHolds } from './clients/service-holds.js';
import { EstimateController } from './estimate.controller.js';
import { GatewayConfig } from './gateway.config.js';
import { AccessLog } from './http/access-log.js';
import { ActivityEvents } from './http/activity-events.js';
import { BodyParser } from './http/bodies/body-parser.js';
import { BodyWorkers, type StartWorker } from './http/bodies/body-workers.js';
import { BodyReader } from './http/bodies/read-body.js';
import { WorkerTexts } from './http/bodies/worker-texts.js';
import { AccountController } from './http/endpoints/account.controller.js';
import { ChildKeysController } from './http/endpoints/child-keys.controller.js';
import { CountTokensController } from './http/endpoints/count-tokens.controller.js';
import { EstimatesController } from './http/endpoints/estimates.controller.js';
import { GenerationController } from './http/endpoints/generation.controller.js';
import { GenerationHandler } from './http/endpoints/generation-handler.js';
import { OwnKeyController } from './http/endpoints/own-key.controller.js';
import { ReceiptsController } from './http/endpoints/receipts.controller.js';
import { addModels, createGatewayMetrics } from './http/gateway-metrics.js';
import { ApiKeyGuard } from './http/limits/api-key.guard.js';
import { EmptyAccounts } from './http/limits/empty-accounts.js';
import { RequestRates } from './http/limits/request-rates.js';
import { ErrorFilter } from './http/replies/error.filter.js';
import { HttpServer } from './http/server/http-server.js';
import { ItemsController } from './items/items.controller.js';
import { OpenApiController } from './openapi/openapi.controller.js';
import { Policies } from './pipeline/policy/policies.js';
import { PolicyTurns } from './pipeline/policy/policy-turns.js';
import { Quotes } from './pipeline/quotes.js';
import { SettleOnEnd } from './pipeline/settle-on-end.js';

export interface GatewayDependencies {
  config: GatewayConfig;
  logger: Logger;
  registry: Registry;
  messaging: Messaging;
  /** Absent while traces are not exported. */
  tracer?: Tracer | undefined;
  /** Default: the worker of the build. Tests start one that runs TypeScript. */
  startBodyWorker?: StartWorker;
}

@Module({})
class GatewayModule {}

/**
 * The composition root: every object of the gateway with its dependencies. Nest calls the lifecycle hooks of these objects:
 * `onModuleInit` at the start; at shutdown `onModuleDestroy` (requests end), `beforeApplicationShutdown` (settlements end),
 * `onApplicationShutdown` (the rest).
 */
export function gatewayModule({ config, logger, registry, messaging, tracer, startBodyWorker }: GatewayDependencies): DynamicModule {
  const metrics = createGatewayMetrics(registry);
  return {
    module: GatewayModule,
    controllers: [
      GenerationController,
      CountTokensController,
      EstimatesController,
      AccountController,
      OwnKeyController,
      ChildKeysController,
      ReceiptsController,
      OpenApiController,
      EstimateController,
      ItemsController,
    ],
    providers: [
      provide(GatewayConfig, [], () => config),
      // clients
      provide(ApiKeys, [], () => new ApiKeys(messaging, config.keyCacheMs, config.keyCacheEntriesMax)),
      provide(BillingReplicas, [], () => new BillingReplicas(messaging)),
      provide(BillingClient, [BillingReplicas], (replicas) => new BillingClient(messaging, replicas, config.billingTimeoutMs)),
      provide(CatalogClient, [], () => new CatalogClient(messaging, logger, config.catalogRefreshMs, (ids) => addModels(metrics, ids))),
      provide(InferenceClient, [], () => new InferenceClient(messaging)),
      provide(OwnKeys, [], () => new OwnKeys(messaging)),
      provide(ReceiptKeys, [], () => new ReceiptKeys(messaging)),
      provide(ServiceHolds, [ApiKeys, BillingClient], (keys, billing) => new ServiceHolds(messaging, keys, billing)),
      provide(QuoteKeys, [], () => new QuoteKeys(messaging)),
      // pipeline
      provide(Quotes, [QuoteKeys], (keys) => new Quotes(keys)),
      provide(SettleOnEnd, [BillingClient], (billing) => new SettleOnEnd(billing, logger, config)),
      // http
      provide(BodyReader, [], () => new BodyReader(config)),
      provide(BodyWorkers, [], () => new BodyWorkers(config, logger, startBodyWorker)),
      provide(Policies, [BodyWorkers], (workers) => new Policies(new PolicyClient(messaging), new PolicyTurns(), new WorkerTexts(workers))),
      provide(BodyParser, [BodyWorkers], (workers) => new BodyParser(workers)),
      provide(
        GenerationHandler,
        [CatalogClient, BillingClient, InferenceClient, SettleOnEnd, Policies, BodyReader, BodyParser, Quotes],
        (catalog, billing, inference, settlements, policies, bodies, parser, quotes) =>
          new GenerationHandler({ catalog, billing, inference, settlements, policies }, bodies, parser, quotes, config),
      ),
      provide(RequestRates, [], () => new RequestRates(config)),
      provide(EmptyAccounts, [BillingClient, CatalogClient, RequestRates], (...parts) => new EmptyAccounts(...parts)),
      provide(ApiKeyGuard, [ApiKeys, RequestRates, EmptyAccounts], (...parts) => new ApiKeyGuard(...parts)),
      provide(APP_FILTER, [RequestRates], (rates) => new ErrorFilter(rates)),
      provide(ActivityEvents, [], () => new ActivityEvents(messaging, metrics.activityDropped)),
      provide(AccessLog, [ActivityEvents], (activity) => new AccessLog(logger, metrics, config.activityEvents ? activity : undefined)),
      provide(
        HttpServer,
        [HttpAdapterHost, AccessLog, CatalogClient],
        ({ httpAdapter }, accessLog, catalog) =>
          new HttpServer(httpAdapter.getInstance(), accessLog, logger, config, () => catalog.loaded, tracer),
      ),
    ],
  };
}

type Class<Instance> = abstract new (...dependencies: never[]) => Instance;

/** Returns a provider whose factory gets the injected dependencies with their types. */
function provide<Dependencies extends readonly Class<unknown>[]>(
  token: InjectionToken,
  inject: readonly [...Dependencies],
  useFactory: (...dependencies: { [Position in keyof Dependencies]: InstanceType<Dependencies[Position]> }) => unknown,
): FactoryProvider {
  return { provide: token, inject: [...inject], useFactory: useFactory as FactoryProvider['useFactory'] };
}
