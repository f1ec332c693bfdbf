// Decorators of nested types need it, and every contract imports this file.
import 'reflect-metadata';

interface EndpointRules {
  /** Text of one line on what it does, for service discovery and documents. */
  about: string;
  /** A request may be sent again, to any replica: it changes nothing, or its ids make it happen once. */
  isRepeatable?: boolean;
  /** One replica answers; another subject reaches the others. */
  isDirected?: boolean;
  /**
   * A change or a costly act of an operator or a person: its handler writes a row of an audit journal with the caller. Each NATS user has a
   * subject of its own for it, so that the server's permissions prove the user.
   */
  isRecorded?: boolean;
  /** Internal services alone call it, each on a subject of its own as of a recorded one, so that the server's permissions prove the service. */
  isForServices?: boolean;
}

/** An endpoint with a subject for each NATS user that may call it. */
interface NamesCaller {
  subject: string;
  isRecorded: boolean;
  isForServices?: boolean;
}

/** The NATS user of operators. It alone may publish to the plain subject of a recorded endpoint. */
const OPERATOR = 'cli';
const BY = '.by.';

/**
 * Returns the subject on which a NATS user calls an endpoint: of a recorded one `<subject>` for the operator, `<subject>.by.<user>` for others;
 * of one for services `<subject>.by.<service>`.
 */
export function subjectFor(user: string, { subject, isRecorded, isForServices }: NamesCaller): string {
  return isForServices || (isRecorded && user !== OPERATOR) ? `${subject}${BY}${user}` : subject;
}

/** Returns the NATS user that may publish to a subject of a recorded endpoint, or of one for services. */
export function findPublisher(subject: string): string {
  const at = subject.lastIndexOf(BY);
  return at < 0 ? OPERATOR : subject.slice(at + BY.length);
}

/**
 * A request/reply subject. `request` is a class-validator DTO, checked by the service that answers; unknown fields are ignored. `Reply` is
 * the compile-time shape of plain JSON.
 */
export class Endpoint<Request extends object, Reply> {
  /** Type only, absent at run time. */
  declare readonly reply: Reply;
  readonly description: string;
  readonly isRepeatable: boolean;
  readonly isDirected: boolean;
  readonly isRecorded: boolean;
  readonly isForServices: boolean;

  constructor(
    readonly subject: string,
    readonly request: new () => Request,
    { about, isRepeatable = false, isDirected = false, isRecorded = false, isForServices = false }: EndpointRules,
  ) {
    this.description = about;
    this.isRepeatable = isRepeatable;
    this.isDirected = isDirected;
    this.isRecorded = isRecorded;
    this.isForServices = isForServices;
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
    const { subject, request, description: about, isRepeatable } = this;
    return new Endpoint<Request, Reply>(`${subject}.${replicaId}`, request, { about, isRepeatable, isDirected: true });
  }
}

/** Subjects that programs of the operator answer, one for each name: the last token of `subject` is `*`. */
export class NamedEndpoint<Request extends object, Reply> extends Endpoint<Request, Reply> {
  /** Returns the endpoint of one name. */
  named(name: string): Endpoint<Request, Reply> {
    const { subject, request, description: about, isRepeatable } = this;
    return new Endpoint<Request, Reply>(subject.replace('*', name), request, { about, isRepeatable });
  }
}

/** A subject answered by a stream of event batches over the framed stream of `libs/messaging`. */
export class StreamEndpoint<Request extends object, Event> {
  declare readonly event: Event;
  readonly description: string;
  readonly isRecorded: boolean;

  constructor(
    readonly subject: string,
    readonly request: new () => Request,
    { about, isRecorded = false }: Pick<EndpointRules, 'about' | 'isRecorded'>,
  ) {
    this.description = about;
    this.isRecorded = isRecorded;
  }
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
