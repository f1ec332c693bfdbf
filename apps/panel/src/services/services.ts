import type { Actor } from '#contracts/audit.js';
import type { Endpoint, EveryReplicaEndpoint, StreamEndpoint } from '#contracts/endpoint.js';
import { OPERATOR } from '#database/journal-reads.js';
import { type Messaging, MessagingError } from '#messaging/messaging.js';
import { PanelError } from '../errors/panel-error.js';
import { type PanelRequest, requireCaller } from '../requests/panel-request.js';

/** Milliseconds for an answer. A sum over a year of usage takes a few seconds. */
const ANSWER_MS = 15_000;

/** Calls of billing, catalog and inference-proxy. One that does not answer is named in a `PanelError` `unavailable`. */
export class Services {
  constructor(private readonly messaging: Pick<Messaging, 'request' | 'requestEvery' | 'openStream'>) {}

  /** Asks and changes nothing. */
  ask<Request extends object, Reply>(endpoint: Endpoint<Request, Reply>, payload: Request, timeoutMs = ANSWER_MS): Promise<Reply> {
    return this.messaging.request(endpoint, payload, { timeoutMs }).catch((error) => refuse(error, endpoint.subject));
  }

  /**
   * Returns what asks in the name of a caller. Billing counts the reads of a customer in the share of the account that they are about; those of
   * operators never wait for them.
   */
  askingFor(request: PanelRequest): AskServices {
    const level = requireCaller(request).access.isPlatformWide ? undefined : 'customer';
    const actor: Actor = { ...toActor(request), level };
    return {
      ask: (endpoint, payload, timeoutMs = ANSWER_MS) =>
        this.messaging.request(endpoint, payload, { timeoutMs, actor }).catch((error) => refuse(error, endpoint.subject)),
    };
  }

  /** Asks every replica. */
  askEvery<Request extends object, Reply>(
    endpoint: EveryReplicaEndpoint<Request, Reply>,
    payload: Request,
    timeoutMs = ANSWER_MS,
  ): Promise<Reply[]> {
    return this.messaging.requestEvery(endpoint, payload, { timeoutMs }).catch((error) => refuse(error, endpoint.subject));
  }

  /** Opens a stream in the name of the caller, and yields its events in batches. The signal cancels it. */
  async *stream<Request extends object, Event>(
    request: PanelRequest,
    endpoint: StreamEndpoint<Request, Event>,
    payload: Request,
    signal: AbortSignal,
  ): AsyncGenerator<readonly Event[]> {
    try {
      yield* this.messaging.openStream(endpoint, payload, { signal, actor: toActor(request) });
    } catch (error) {
      refuse(error, endpoint.subject);
    }
  }

  /** Changes something in the name of the caller, whom the service records in its audit journal. */
  change<Request extends object, Reply>(
    request: PanelRequest,
    endpoint: Endpoint<Request, Reply>,
    payload: Request,
    timeoutMs = ANSWER_MS,
  ): Promise<Reply> {
    return this.changeAs(toActor(request), endpoint, payload, timeoutMs);
  }

  /** Changes something in the name of an author. */
  changeAs<Request extends object, Reply>(
    actor: Actor,
    endpoint: Endpoint<Request, Reply>,
    payload: Request,
    timeoutMs = ANSWER_MS,
  ): Promise<Reply> {
    return this.messaging.request(endpoint, payload, { timeoutMs, actor }).catch((error) => refuse(error, endpoint.subject));
  }
}

/** Asks and changes nothing. */
export type AskServices = Pick<Services, 'ask'>;

function toActor(request: PanelRequest): Actor {
  const { actor, actorName, access } = requireCaller(request);
  // Only roles of the platform have the permission, so its holder is the operator.
  const level = access.mayAnywhere('accounts') ? undefined : 'customer';
  return { actor, actorName, ip: request.address, requestId: request.requestId, level };
}

/** Services by the first token of their subjects. */
const SERVICES: Record<string, string> = { inference: 'inference-proxy' };

/** Returns the service that answers a subject. */
export function findService(subject: string): string {
  const [first = ''] = subject.split('.');
  return SERVICES[first] ?? first;
}

function refuse(error: unknown, subject: string): never {
  if (!(error instanceof MessagingError)) throw error;
  throw new PanelError('unavailable', `The service ${findService(subject)} does not answer. Try again in a moment.`, { cause: error });
}

/** Returns whose share of the panel's own reads a request counts in: that of the account for its own people, else the operator's. */
export function nameReader(request: PanelRequest, accountId: string | undefined): string {
  const { access, userId } = requireCaller(request);
  return access.isPlatformWide ? OPERATOR : (accountId?.toLowerCase() ?? userId);
}

/** True when an optional service does not run: nobody listens to its subjects. */
export function isOff(error: unknown): boolean {
  const { cause } = error as Error;
  return cause instanceof MessagingError && cause.kind === 'unavailable';
}

/** Yields the rows of a list page by page, so that one page is in memory. */
export async function* readPages<Row>(
  read: (cursor: string | undefined) => Promise<{ rows: readonly Row[]; nextCursor: string | null }>,
): AsyncGenerator<readonly Row[]> {
  for (let cursor: string | undefined; ; ) {
    const { rows, nextCursor } = await read(cursor);
    yield rows;
    if (nextCursor === null) return;
    cursor = nextCursor;
  }
}

/** Collects all pages of a short list. */
export async function collectRows<Row>(pages: AsyncIterable<readonly Row[]>): Promise<Row[]> {
  const all: Row[] = [];
  for await (const rows of pages) all.push(...rows);
  return all;
}

/** Yields what is all there as the only page. */
export async function* onePage<Page>(page: Page): AsyncGenerator<Page> {
  yield page;
}
