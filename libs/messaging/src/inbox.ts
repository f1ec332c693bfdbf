import { readBundle } from './bundle.js';
import { goneConnection, isBundle, isReader, newSubject, type ReceiverKind } from './inbox-subject.js';
import type { MessagingError } from './messaging.js';
import { type IncomingMessage, isNoResponders, type Receiver, type RunningKind } from './receiver.js';

/** The one subscription for all messages to this connection: `<address>.*`. */
export class Inbox {
  private readonly receivers = new Map<string, Receiver>();
  private whenEmpty: (() => void) | undefined;

  /** `address`: `_INBOX.<service>.<random>`. Calls `onStray` for stream frames without a reader. */
  constructor(
    private readonly address: string,
    private readonly onStray: (message: IncomingMessage) => void,
  ) {}

  /** Subject of the subscription. Its messages go to `receive`. */
  get subject(): string {
    return `${this.address}.*`;
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

  /** Gives a subject to another receiver. */
  replace(subject: string, receiver: Receiver): void {
    this.receivers.set(subject, receiver);
  }

  /** Fails every receiver for which `findError` returns an error. */
  failAll(findError: (receiver: Receiver) => MessagingError | undefined): void {
    for (const receiver of [...this.receivers.values()]) {
      const error = findError(receiver);
      if (error !== undefined) receiver.fail(error);
    }
  }

  resumeAll(): void {
    for (const receiver of [...this.receivers.values()]) receiver.resume();
  }

  /** Counts what is running, and the streams among it that wait for credit. */
  counts(): Record<RunningKind | 'withoutCredit', number> {
    const counts = { call: 0, reader: 0, writer: 0, withoutCredit: 0 };
    for (const { running, lacksCredit } of this.receivers.values()) {
      if (running) counts[running]++;
      if (lacksCredit) counts.withoutCredit++;
    }
    return counts;
  }

  /** Resolves when there is no receiver. */
  async emptied(): Promise<void> {
    if (this.receivers.size > 0) await new Promise<void>((resolve) => (this.whenEmpty = resolve));
  }

  /** Passes on a message of the subscription. */
  readonly receive = (message: IncomingMessage): void => {
    const token = message.subject.slice(this.address.length + 1);
    if (isBundle(token)) this.receiveBundle(message.data);
    else if (this.deliver(message, token)) return;
    else if (isNoResponders(message)) this.receiveGone(goneConnection(token), message);
  };

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
