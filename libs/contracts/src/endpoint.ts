// Decorators of nested types need it, and every contract imports this file.
import 'reflect-metadata';

interface EndpointRules {
  /** A request may be sent again, to any replica: it changes nothing, or its ids make it happen once. */
  isRepeatable?: boolean;
  /** One replica answers; another subject reaches the others. */
  isDirected?: boolean;
}

/**
 * A request/reply subject. `request` is a class-validator DTO, checked by the service that answers; unknown fields are ignored. `Reply` is
 * the compile-time shape of plain JSON.
 */
export class Endpoint<Request extends object, Reply> {
  /** Type only, absent at run time. */
  declare readonly reply: Reply;
  readonly isRepeatable: boolean;
  readonly isDirected: boolean;

  constructor(
    readonly subject: string,
    readonly request: new () => Request,
    readonly description: string,
    { isRepeatable = false, isDirected = false }: EndpointRules = {},
  ) {
    this.isRepeatable = isRepeatable;
    this.isDirected = isDirected;
  }
}

/** A subject that every replica of its service answers. `Messaging.requestEvery` collects all answers, `request` takes the first. */
export class EveryReplicaEndpoint<Request extends object, Reply> extends Endpoint<Request, Reply> {
  /** Type only: an `Endpoint` is not assignable. */
  declare readonly everyReplica: true;
}

/** A subject of which each replica also answers a variant of its own, so that callers can prefer a replica. */
export class ReplicaEndpoint<Request extends object, Reply> extends Endpoint<Request, Reply> {
  /** Returns the variant of one replica, with the subject `<subject>.<replicaId>`. */
  at(replicaId: string): Endpoint<Request, Reply> {
    const { isRepeatable } = this;
    return new Endpoint<Request, Reply>(`${this.subject}.${replicaId}`, this.request, this.description, { isRepeatable, isDirected: true });
  }
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

/** A published event: core NATS, at most once. Caches use it to drop entries sooner; the database is the truth. */
export class Topic<Event extends object> {
  /** `event` is a class-validator DTO, checked before the subscriber gets it. */
  constructor(
    readonly subject: string,
    readonly event: new () => Event,
    readonly description: string,
  ) {}
}
