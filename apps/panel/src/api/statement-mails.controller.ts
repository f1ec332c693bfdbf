import { Controller, Param, Req } from '@nestjs/common';
import { IsBoolean } from 'class-validator';
import { Id } from '#contracts/billing/fields.js';
import { IdPipe } from '../http/id.pipe.js';
import { requestAuthor } from '../http/request-author.js';
import { Handles, Input } from '../http/route.decorator.js';
import { type PanelRequest, requireCaller } from '../requests/panel-request.js';
import type { StatementMailReply } from '../shapes/billing.js';
import { StatementMails } from '../statements/statement-mails.js';

class StatementMailRequest {
  @Id() accountId!: string;
  @IsBoolean() isOn!: boolean;
}

/** The mails with statements of the signed-in person, or of the one who made the token. */
@Controller()
export class StatementMailsController {
  constructor(private readonly mails: StatementMails) {}

  @Handles('showStatementMail')
  show(@Req() request: PanelRequest, @Param('accountId', IdPipe) accountId: string): Promise<StatementMailReply> {
    return this.mails.show({ accountId, userId: requireCaller(request).userId });
  }

  @Handles('setStatementMail')
  set(
    @Req() request: PanelRequest,
    @Param('accountId', IdPipe) accountId: string,
    @Input(StatementMailRequest) { isOn }: StatementMailRequest,
  ): Promise<StatementMailReply> {
    return this.mails.set({ accountId, userId: requireCaller(request).userId }, isOn, requestAuthor(request));
  }
}
