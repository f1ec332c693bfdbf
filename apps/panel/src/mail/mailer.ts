import { createTransport, type Transporter } from 'nodemailer';
import type { Logger } from '#observability/logger.js';
import type { PanelMetrics } from '../http/panel-metrics.js';
import type { PanelConfig } from '../panel.config.js';
import type { MailState } from '../shapes/identity.js';

export interface Mail {
  to: string;
  subject: string;
  text: string;
  /** The same for a mail that is sent again. Default: a new one. */
  messageId?: string;
  attachments?: { filename: string; contentType: string; content: Buffer }[];
}

/** The outcome of a mail: the answer of the mail server, or why there was none. */
export interface MailOutcome {
  accepted: boolean;
  answer: string;
  milliseconds: number;
}

export type MailSettings = Pick<PanelConfig, 'smtpUrl' | 'smtpUser' | 'smtpPassword' | 'smtpFrom'>;

const CONNECT_TIMEOUT_MS = 5_000;
const SILENCE_TIMEOUT_MS = 10_000;
const CONNECTIONS_MAX = 2;
/** Mails on their way and waiting. More are refused at once, so that a dead server holds no memory. */
const MAILS_MAX = 100;
const ANSWER_LENGTH_MAX = 200;
/** Ports of mail servers: with TLS from the start, and with STARTTLS. */
const PORTS = { 'smtps:': 465, 'smtp:': 587 } as const;
const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])$/;

/**
 * Sends mail by SMTP. Off without `SMTP_URL`. The connection is encrypted, except on loopback: `smtp://` demands STARTTLS, so that no one
 * on the way reads the password or the mail.
 */
export class Mailer {
  private readonly transport: Transporter | undefined;
  private readonly from: string;
  private sending = 0;
  private failure: { answer: string; since: Date } | undefined;

  constructor(
    settings: MailSettings,
    private readonly metrics: Pick<PanelMetrics, 'mails' | 'mailFailing'>,
    private readonly logger: Pick<Logger, 'warn'>,
  ) {
    this.from = settings.smtpFrom;
    if (settings.smtpUrl !== 'none') this.transport = createTransport(transportOptions(settings));
  }

  get isSetUp(): boolean {
    return this.transport !== undefined;
  }

  /** The state of the mail server, as this replica saw it last. */
  get state(): MailState {
    const { failure } = this;
    return { isSetUp: this.isSetUp, failure: failure?.answer ?? null, failingSince: failure?.since.toISOString() ?? null };
  }

  /** Sends a mail once. Never throws. */
  async send(mail: Mail): Promise<MailOutcome> {
    const { transport } = this;
    if (!transport) return refusal('no mail server is set up');
    if (this.sending >= MAILS_MAX) return refusal('too many mails wait for the mail server');
    this.sending++;
    const start = performance.now();
    const milliseconds = () => Math.round(performance.now() - start);
    try {
      const { response } = await transport.sendMail({ from: this.from, ...mail });
      this.note(undefined);
      return { accepted: true, answer: cut(response ?? 'accepted'), milliseconds: milliseconds() };
    } catch (error) {
      const answer = cut((error as Error).message);
      this.note(answer);
      return { accepted: false, answer, milliseconds: milliseconds() };
    } finally {
      this.sending--;
    }
  }

  /** Called by Nest. */
  onApplicationShutdown(): void {
    this.transport?.close();
  }

  private note(failure: string | undefined): void {
    this.metrics.mails.inc({ outcome: failure === undefined ? 'accepted' : 'failed' });
    this.metrics.mailFailing.set(failure === undefined ? 0 : 1);
    if (failure !== undefined && !this.failure) this.logger.warn({ failure }, 'mail: server does not accept mail');
    this.failure = failure === undefined ? undefined : { answer: failure, since: this.failure?.since ?? new Date() };
  }
}

function transportOptions({ smtpUrl, smtpUser, smtpPassword }: MailSettings) {
  const { protocol, hostname, port } = new URL(smtpUrl);
  const secure = protocol === 'smtps:';
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port) || PORTS[secure ? 'smtps:' : 'smtp:'],
    secure,
    requireTLS: !secure && !LOOPBACK.test(hostname),
    ...(smtpUser !== 'none' && { auth: { user: smtpUser, pass: smtpPassword } }),
    tls: { minVersion: 'TLSv1.2' as const },
    pool: true as const,
    maxConnections: CONNECTIONS_MAX,
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: CONNECT_TIMEOUT_MS,
    dnsTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SILENCE_TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

function refusal(answer: string): MailOutcome {
  return { accepted: false, answer, milliseconds: 0 };
}

function cut(text: string): string {
  return text.slice(0, ANSWER_LENGTH_MAX);
}
