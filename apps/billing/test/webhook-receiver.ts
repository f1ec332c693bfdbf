import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { MoneyEvent } from '#contracts/billing/events.js';

export interface ReceivedMessage {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  event: MoneyEvent;
}

/** A receiver of webhooks on 127.0.0.1. It accepts every message unless the test says otherwise. */
export class WebhookReceiver {
  readonly received: ReceivedMessage[] = [];
  /** Answers a message. Default: 204. */
  answer: (response: ServerResponse, message: ReceivedMessage) => unknown = (response) => response.writeHead(204).end();
  private wake: (() => void)[] = [];

  private constructor(private readonly server: Server) {}

  static async start(): Promise<WebhookReceiver> {
    const server = createServer();
    const receiver = new WebhookReceiver(server);
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString();
        const message = { path: request.url ?? '', headers: request.headers, body, event: JSON.parse(body) };
        receiver.received.push(message);
        void receiver.answer(response, message);
        for (const wake of receiver.wake.splice(0)) wake();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  url(path: string): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}${path}`;
  }

  /** Messages to a path. */
  at(path: string): ReceivedMessage[] {
    return this.received.filter((message) => message.path === path);
  }

  /** Sequences of the events that a path has got, of one account if it is given, in the order of their arrival. */
  sequences(path: string, accountId?: string): number[] {
    const messages = this.at(path).filter(({ event }) => accountId === undefined || event.accountId === accountId);
    return messages.map(({ event }) => event.sequence);
  }

  /** Resolves when `condition` holds; it is asked again after each message. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.wake.push(resolve));
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
