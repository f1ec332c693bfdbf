import type { ConnectionOptions } from 'nats';
import type { components } from './schema.js';
import type { Subjects } from './subjects.js';

/** A refused request. `code` stays in all versions 1.x, the message does not. */
export class TollgateError extends Error {
  readonly code: string;
  readonly param: string | undefined;
}

export interface TollgateConnection {
  /** @throws {TollgateError} when the service refuses it. After a timeout the outcome is unknown. */
  request<Subject extends keyof Subjects>(subject: Subject, body: Subjects[Subject]['request']): Promise<Subjects[Subject]['reply']>;
  close(): Promise<void>;
}

/** Connects as a user of the NATS server. Other options, such as `pass`, `authenticator` and `tls`, go to the client of NATS. */
export function connectTollgate(
  options: Omit<ConnectionOptions, 'inboxPrefix'> & { servers: string | string[]; user: string; timeoutMs?: number },
): Promise<TollgateConnection>;

export type { Subjects };
/** Types of requests and replies by their names in the AsyncAPI document. */
export type Schemas = components['schemas'];
