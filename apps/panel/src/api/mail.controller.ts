import { Controller } from '@nestjs/common';
import { type MailSendReply, MailSendRequest, mailSend } from '#contracts/panel.js';
import { Serves } from '#messaging/serves.js';
import { Mailer } from '../mail/mailer.js';
import { Recipients } from '../mail/recipients.js';
import { renderNotice } from '../mail/render-mail.js';
import { PanelConfig } from '../panel.config.js';

/** Sends mail for billing, which knows neither people nor the secret of the mail server. */
@Controller()
export class MailController {
  constructor(
    private readonly mailer: Mailer,
    private readonly recipients: Recipients,
    private readonly config: PanelConfig,
  ) {}

  @Serves(mailSend)
  async send(request: MailSendRequest): Promise<MailSendReply> {
    const isAllowed = await this.recipients.has(request.email.toLowerCase(), request.accountId ?? null);
    if (!isAllowed) return { accepted: false, answer: 'no person who may see the notifications has this address', milliseconds: 0 };
    return this.mailer.send(renderNotice(request, this.config.panelUrl));
  }
}
