import { Controller, type DynamicModule, type INestMicroservice, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { IsInt, IsString, Max, Min } from 'class-validator';
import { Endpoint, EveryReplicaEndpoint, ReplicaEndpoint, StreamEndpoint } from '#contracts/endpoint.js';
import { ServiceError } from '#contracts/service-error.js';
import { createLogger, type Logger } from '#observability/logger.js';
import { type ConnectOptions, connectMessaging } from '../src/connect-messaging.js';
import { LocalExchange } from '../src/local-exchange.js';
import { LocalMessaging } from '../src/local-messaging.js';
import type { CallContext, Messaging } from '../src/messaging.js';
import type { NatsMessaging } from '../src/nats-messaging.js';
import { NatsTransport } from '../src/nats-transport.js';
import { Serves } from '../src/serves.js';

export class CountRequest {
  @IsInt() @Min(0) @Max(1_000_000) count!: number;
}

export class TextRequest {
  @IsString() text!: string;
}

export const double = new Endpoint<CountRequest, { doubled: number }>('test.v1.count.double', CountRequest, { about: 'Doubles a number' });
export const square = new Endpoint<CountRequest, { squared: number }>('test.v1.count.square', CountRequest, {
  about: 'Squares a number',
  isRepeatable: true,
});
export const echo = new Endpoint<TextRequest, TextRequest>('test.v1.text.echo', TextRequest, { about: 'Says it again' });
export const rollCall = new EveryReplicaEndpoint<TextRequest, { name: string }>('test.v1.roll.call', TextRequest, {
  about: 'Says who is there',
});
export const whoIs = new ReplicaEndpoint<TextRequest, { name: string }>('test.v1.who.is', TextRequest, { about: 'Says who answers' });
export const countUp = new StreamEndpoint<CountRequest, number>('test.v1.count.up', CountRequest, { about: 'Counts from 1' });
export const measure = new StreamEndpoint<TextRequest, number>('test.v1.text.measure', TextRequest, { about: 'Says how long a text is' });

/** A service of calls that succeed, fail, or wait until `release`. `seen` has the contexts of those to `double`. */
export function makeCalculator() {
  const seen: CallContext[] = [];
  let release: () => void = () => undefined;

  @Controller()
  class Calculator {
    @Serves(double) async double({ count }: CountRequest, context: CallContext): Promise<{ doubled: number }> {
      seen.push(context);
      if (count === 13) throw new ServiceError('conflict', 'Not that one.\nReally not.', 'count');
      if (count === 14) throw new TypeError('secret detail');
      if (count === 15) await new Promise<void>((resolve) => (release = resolve));
      return { doubled: 2 * count };
    }

    @Serves(echo) echo(request: TextRequest): TextRequest {
      return request;
    }
  }

  return { Calculator, seen, release: () => release() };
}

const silentLogger: Logger = createLogger('test', 'silent');

@Module({})
class TestModule {}

type Controllers = NonNullable<DynamicModule['controllers']>;

/** The two ways from a caller to a service. The contract of `Messaging` is the same on both. */
export const LAYOUTS = ['over NATS', 'within the process'] as const;

interface ServeSettings {
  name?: string;
  replicaId?: string;
  logger?: Logger;
  shutdownGraceMs?: number;
  runningMax?: number;
  largeRequestBytesMax?: number;
  exchange?: LocalExchange;
}

/** Serves controllers as the service `name` until closed. */
export async function serve(messaging: NatsMessaging, controllers: Controllers, settings: ServeSettings = {}): Promise<INestMicroservice> {
  const { name = 'test', logger = silentLogger, shutdownGraceMs = 1_000, ...limits } = settings;
  const description = 'A service of a test';
  const strategy = new NatsTransport({ messaging, name, description, logger, shutdownGraceMs, ...limits });
  const app = await NestFactory.createMicroservice({ module: TestModule, controllers }, { strategy, logger: false });
  await app.listen();
  return app;
}

/** The connections of a test. */
export class Connections {
  private readonly open: NatsMessaging[] = [];

  constructor(private readonly url: () => string) {}

  async connect(service: string, options: Partial<ConnectOptions> = {}): Promise<NatsMessaging> {
    const messaging = await connectMessaging({
      url: this.url(),
      user: service,
      password: '',
      service,
      logger: silentLogger,
      closeGraceMs: 0,
      ...options,
    });
    this.open.push(messaging);
    return messaging;
  }

  /** Serves controllers, and connects a caller to them. */
  async startPair(
    layout: (typeof LAYOUTS)[number],
    controllers: Controllers,
    settings: ServeSettings = {},
  ): Promise<{ app: INestMicroservice; service: NatsMessaging; caller: Messaging }> {
    if (layout === 'within the process') return this.startLocalPair(controllers, settings);
    const service = await this.connect('test');
    return { app: await serve(service, controllers, settings), service, caller: await this.connect('caller') };
  }

  async startLocalPair(controllers: Controllers, settings: ServeSettings = {}) {
    const exchange = new LocalExchange();
    const service = await this.connect('test');
    const app = await serve(service, controllers, { ...settings, exchange });
    const callerConnection = await this.connect('caller');
    const caller = new LocalMessaging(callerConnection, { exchange, service: 'caller', closeGraceMs: 0 });
    return { app, service, callerConnection, caller };
  }

  async closeAll(): Promise<void> {
    await Promise.all(this.open.splice(0).map((messaging) => messaging.close()));
  }
}

/** Resolves when `condition` is true. Rejects after `limitMs`. */
export async function eventually(condition: () => boolean, limitMs = 15_000): Promise<void> {
  const giveUpAt = performance.now() + limitMs;
  while (!condition()) {
    if (performance.now() > giveUpAt) throw new Error(`not within ${limitMs} ms: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
