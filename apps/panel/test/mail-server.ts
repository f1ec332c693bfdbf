import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

export interface ReceivedMail {
  from: string;
  to: string[];
  /** Head and body, without the breaks of quoted-printable lines. */
  raw: string;
}

/** A mail server on 127.0.0.1. It accepts every mail unless `refusal` says otherwise. */
export class MailServer {
  readonly received: ReceivedMail[] = [];
  /** Refuses the mails while it is set. */
  refusal: string | undefined;
  private wake: (() => void)[] = [];

  private constructor(private readonly server: SMTPServer) {}

  static async start(options: SMTPServerOptions = { authOptional: true, disabledCommands: ['STARTTLS'] }): Promise<MailServer> {
    const state: { mails?: MailServer } = {};
    const server = new SMTPServer({
      logger: false,
      ...options,
      onData: (stream, session, done) => {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => done(state.mails?.take(decode(Buffer.concat(chunks).toString()), session.envelope)));
      },
    });
    server.on('error', () => undefined);
    state.mails = new MailServer(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return state.mails;
  }

  get url(): string {
    return `smtp://127.0.0.1:${(this.server.server.address() as AddressInfo).port}`;
  }

  /** Resolves when `condition` holds; it is asked again after each mail. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.wake.push(resolve));
  }

  stop(): Promise<void> {
    return new Promise((resolve) => this.server.close(() => resolve()));
  }

  private take(raw: string, { mailFrom, rcptTo }: { mailFrom: false | { address: string }; rcptTo: { address: string }[] }): Error | null {
    const { refusal } = this;
    if (refusal === undefined) {
      this.received.push({ from: mailFrom === false ? '' : mailFrom.address, to: rcptTo.map(({ address }) => address), raw });
      for (const wake of this.wake.splice(0)) wake();
      return null;
    }
    return Object.assign(new Error(refusal), { responseCode: 451 });
  }
}

function decode(quoted: string): string {
  return quoted.replaceAll('=\r\n', '').replaceAll('=3D', '=');
}
