import { randomBytes, randomFillSync } from 'node:crypto';

/*
 * Subjects of an inbox: `_INBOX.<service>.<random>.<token>`; of an internal service `_INBOX.service.<name>.<anything>`. The part before the token is the connection. The service's name comes first,
 * so that permissions can be set by service. The token is random too: a peer learns the connection and must not guess the subjects of
 * others.
 */

/** Owner of a subject in the inbox, shown by the begin of the token. */
export type ReceiverKind = 'call' | 'reader' | 'writer' | 'payload';

/** The owner of a token that begins with `+` takes bundles. No client makes such tokens by chance. */
const BEGINS = { call: 'c', reader: '+r', writer: '+w', payload: 'p' } as const satisfies Record<ReceiverKind, string>;
const TAKES_BUNDLES = '+';
/** The token of bundles. */
const BUNDLE = 'b';
/** First letter of the token that gets "no responders" for a bundle; the connection that is gone follows. */
const GONE = 'g';

const PREFIX = '_INBOX.';

export function newConnection(service: string): string {
  return `${PREFIX}${service}.${randomBytes(12).toString('hex')}`;
}

export function newSubject(connection: string, kind: ReceiverKind): string {
  return `${connection}.${BEGINS[kind]}${randomToken()}`;
}

/** True for a subject in an inbox. A service publishes to no other subject that a caller names, or it would lend the caller its own rights. */
export function isInbox(subject: string): boolean {
  return subject.startsWith(PREFIX);
}

/** Token before the name of an internal service in its inbox, so that one permission is for the inboxes of all services. */
const SERVICES = 'service';

/** Returns the NATS user whose inbox the subject is in; undefined for any other subject. */
export function parseOwner(subject: string): string | undefined {
  if (!isInbox(subject)) return undefined;
  const [, owner, service] = subject.split('.');
  return owner === SERVICES ? service : owner;
}

/** True when both subjects are in the inbox of the same connection. */
export function sharesInbox(subject: string, other: string): boolean {
  const [, service, connection] = other.split('.');
  return isInbox(other) && connection !== undefined && subject.startsWith(`${PREFIX}${service}.${connection}.`);
}

export function isReader(token: string): boolean {
  return token.startsWith(BEGINS.reader);
}

export function parseToken(subject: string): string {
  return subject.slice(subject.lastIndexOf('.') + 1);
}

function parseConnection(subject: string): string {
  return subject.slice(0, subject.lastIndexOf('.'));
}

// ---- streams ----

/** A subject that stream messages go to. `connection` is set when its owner takes bundles. */
export interface StreamAddress {
  readonly subject: string;
  readonly connection: string | undefined;
  readonly token: string;
}

export function streamAddress(subject: string): StreamAddress {
  const token = parseToken(subject);
  const takesBundles = isInbox(subject) && token.startsWith(TAKES_BUNDLES);
  return { subject, connection: takesBundles ? parseConnection(subject) : undefined, token };
}

export function bundleSubject(connection: string): string {
  return `${connection}.${BUNDLE}`;
}

/** Returns the subject in the inbox of `connection` that reports that `other` is gone. */
export function goneSubject(connection: string, other: string): string {
  return `${connection}.${GONE}${other.slice(PREFIX.length).replace('.', ':')}`;
}

export function isBundle(token: string): boolean {
  return token === BUNDLE;
}

/** Returns the connection that is gone; undefined for any other token. */
export function goneConnection(token: string): string | undefined {
  return token.startsWith(GONE) ? `${PREFIX}${token.slice(GONE.length).replace(':', '.')}` : undefined;
}

const TOKEN_BYTES = 12;
/** Random bytes for 256 tokens: asking the system for each token takes longer than the rest of a call. */
const pool = Buffer.alloc(256 * TOKEN_BYTES);
let poolUsed = pool.length;

function randomToken(): string {
  if (poolUsed === pool.length) {
    randomFillSync(pool);
    poolUsed = 0;
  }
  const start = poolUsed;
  poolUsed += TOKEN_BYTES;
  return pool.toString('base64url', start, poolUsed);
}
