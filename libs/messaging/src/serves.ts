import 'reflect-metadata';
import { MessagePattern, RpcException } from '@nestjs/microservices';
import { PARAM_ARGS_METADATA } from '@nestjs/microservices/constants.js';
import { Endpoint, EveryReplicaEndpoint, ReplicaEndpoint, StreamEndpoint } from '#contracts/endpoint.js';
import type { CallContext } from './messaging.js';

interface ServesOptions<Request> {
  /** Returns the caller whose share of the running requests a request counts in. Default: no shares. */
  sharedBy?: (request: Request) => string | undefined;
}

/** Metadata of a handler for `NatsTransport`. */
export interface ServedExtras {
  kind: 'reply' | 'stream';
  request: new () => object;
  description: string;
  sharedBy: ((request: unknown) => string | undefined) | undefined;
  /** Every replica answers a request, instead of one. */
  everyReplica: boolean;
  /** Each replica also answers on a subject of its own. */
  perReplica: boolean;
  /** Each NATS user has a subject of its own, besides the one of the operator. */
  isRecorded: boolean;
  /** Each internal service has a subject of its own, and nobody else any. */
  isForServices: boolean;
}

/** The signature of a bound method, checked by the compiler. */
type Serving<Request, Result> = <Bound extends (payload: Request, context: CallContext) => Result>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<Bound>,
) => void;

/**
 * Binds a controller's method to an endpoint. The method takes `(payload, context: CallContext)` without parameter decorators. It returns
 * the reply, or for a `StreamEndpoint` an `AsyncIterable` of event batches. A `ServiceError` reaches the caller; any other error is
 * logged and becomes `internal_error`.
 */
export function Serves<Request extends object, Reply>(
  endpoint: Endpoint<Request, Reply>,
  options?: ServesOptions<Request>,
): Serving<Request, Reply | Promise<Reply>>;
export function Serves<Request extends object, Event>(
  endpoint: StreamEndpoint<Request, Event>,
  options?: ServesOptions<Request>,
): Serving<Request, AsyncIterable<readonly Event[]> | Promise<AsyncIterable<readonly Event[]>>>;
export function Serves(
  endpoint: Endpoint<object, unknown> | StreamEndpoint<object, unknown>,
  { sharedBy }: ServesOptions<never> = {},
): MethodDecorator {
  const extras = servedExtras(endpoint, sharedBy as ServedExtras['sharedBy']);
  return (target, key, descriptor) => {
    const method = descriptor as TypedPropertyDescriptor<unknown> as TypedPropertyDescriptor<Method>;
    if (method.value === undefined) throw new TypeError(`@Serves on ${String(key)}, which is not a method`);
    method.value = keepErrors(method.value);
    // With parameters to resolve, Nest would make a promise for each; without, it passes the arguments on unchanged.
    Reflect.defineMetadata(PARAM_ARGS_METADATA, {}, target.constructor, key);
    MessagePattern(endpoint.subject, { ...extras })(target, key, method as TypedPropertyDescriptor<unknown>);
  };
}

/** Returns the metadata of a handler of an endpoint. */
export function servedExtras(
  endpoint: Endpoint<object, unknown> | StreamEndpoint<object, unknown>,
  sharedBy?: ServedExtras['sharedBy'],
): ServedExtras {
  return {
    kind: endpoint instanceof StreamEndpoint ? 'stream' : 'reply',
    request: endpoint.request,
    description: endpoint.description,
    sharedBy,
    everyReplica: endpoint instanceof EveryReplicaEndpoint,
    perReplica: endpoint instanceof ReplicaEndpoint,
    isRecorded: endpoint.isRecorded,
    isForServices: endpoint instanceof Endpoint && endpoint.isForServices,
  };
}

type Method = (...args: unknown[]) => unknown;

/** Wraps every error in an `RpcException`, because Nest replaces any other error by a text. */
function keepErrors(method: Method): Method {
  const wrapped = function (this: unknown, ...args: unknown[]): unknown {
    try {
      const result = method.apply(this, args);
      return result instanceof Promise ? result.catch(rethrow) : result;
    } catch (error) {
      return rethrow(error);
    }
  };
  for (const key of Reflect.getMetadataKeys(method)) Reflect.defineMetadata(key, Reflect.getMetadata(key, method), wrapped);
  return Object.defineProperty(wrapped, 'name', { value: method.name });
}

function rethrow(error: unknown): never {
  throw error instanceof RpcException ? error : new RpcException(error instanceof Error ? error : new Error(String(error)));
}
