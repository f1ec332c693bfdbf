// Every contract module imports this one, and decorators that name a nested type need it.
import 'reflect-metadata';

/**
 * One request/reply subject: what goes in, what comes out. `request` is a class-validator DTO, so that every service
 * validates at its door; unknown fields are ignored. `Reply` is a compile-time shape of plain JSON.
 */
export class Endpoint<Request extends object, Reply> {
  /** Type only; never present at run time. */
  declare readonly reply: Reply;

  constructor(
    readonly subject: string,
    readonly request: new () => Request,
    readonly description: string,
  ) {}
}

/**
 * A subject that every replica of its service answers, each for itself. Asked with `Messaging.requestEvery`, or with `request`, which
 * takes the first answer.
 */
export class EveryReplicaEndpoint<Request extends object, Reply> extends Endpoint<Request, Reply> {
  /** Type only: not to be taken for an endpoint of which any replica will do. */
  declare readonly everyReplica: true;
}

/** A subject answered by a stream of event batches over the framed stream of `libs/messaging`. */
export class StreamEndpoint<Request extends object, Event> {
  declare readonly event: Event;

  constructor(
    readonly subject: string,
    readonly request: new () => Request,
    readonly description: string,
  ) {}
}

/** A published event: core NATS, at most once. The database is the truth; an event only makes caches forget sooner. */
export class Topic<Event extends object> {
  /** `event` is a class-validator DTO: what arrives is checked before it is used. */
  constructor(
    readonly subject: string,
    readonly event: new () => Event,
    readonly description: string,
  ) {}
}
