import type { NatsConnection } from 'nats';
import { readBundle } from './bundle.js';
import { goneConnection, isBundle, isReader, newSubject, type ReceiverKind } from './inbox-subject.js';
import type { MessagingError } from './messaging.js';
import { type IncomingMessage, isNoResponders, type Receiver } from './receiver.js';
import { subscribe } from './subscribe.js';

/** The one subscription for all messages to this connection: `<address>.*`. */
export class Inbox {
  private readonly receivers = new Map<string, Receiver>();
  private whenEmpty: (() => void) | undefined;

  /** `address`: `_INBOX.<service>.<random>`. Calls `onStray` for stream frames without a reader. */
  constructor(
    connection: NatsConnection,
    private readonly address: string,
    private readonly onStray: (message: IncomingMessage) => void,
  ) {
    subscribe(connection, `${address}.*`, (message) => this.receive(message));
  }

  /** Returns the subject that reaches `receiver` until it is removed. */
  add(kind: ReceiverKind, receiver: Receiver): string {
    const subject = newSubject(this.address, kind);
    this.receivers.set(subject, receiver);
    return subject;
  }

  remove(subject: string): void {
    if (this.receivers.delete(subject) && this.receivers.size === 0) this.whenEmpty?.();
  }

  /** Fails every receiver, or only those that publish to `peer`. */
  failAll(error: MessagingError, peer?: string): void {
    for (const receiver of [...this.receivers.values()]) {
      if (peer === undefined || receiver.peer === peer) receiver.fail(error);
    }
  }

  /** Resolves when there is no receiver. */
  async emptied(): Promise<void> {
    if (this.receivers.size > 0) await new Promise<void>((resolve) => (this.whenEmpty = resolve));
  }

  private receive(message: IncomingMessage): void {
    const token = message.subject.slice(this.address.length + 1);
    if (isBundle(token)) this.receiveBundle(message.data);
    else if (this.deliver(message, token)) return;
    else if (isNoResponders(message)) this.receiveGone(goneConnection(token), message);
  }

  private receiveBundle(bundle: Uint8Array): void {
    readBundle(bundle, (sender, { token, replyToken, data }) => {
      const reply = replyToken === undefined ? undefined : `${sender}.${replyToken}`;
      this.deliver({ subject: `${this.address}.${token}`, reply, data }, token);
    });
  }

  /** Returns false for a message that is neither for a receiver nor a stray frame. */
  private deliver(message: IncomingMessage, token: string): boolean {
    const receiver = this.receivers.get(message.subject);
    if (receiver !== undefined) receiver.receive(message);
    else if (isReader(token)) this.onStray(message);
    else return false;
    return true;
  }

  /** Passes "no responders" to every stream whose other end was on `connection`. */
  private receiveGone(connection: string | undefined, message: IncomingMessage): void {
    if (connection === undefined) return;
    for (const receiver of [...this.receivers.values()]) {
      if (receiver.otherEnd?.connection === connection) receiver.receive(message);
    }
  }
}
