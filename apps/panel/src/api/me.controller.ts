import { Body, Controller, Req } from '@nestjs/common';
import { requestAuthor } from '../http/request-author.js';
import { Handles } from '../http/route.decorator.js';
import { People } from '../identity/people.js';
import { PanelConfig } from '../panel.config.js';
import { type PanelRequest, requireCaller } from '../requests/panel-request.js';
import { type Me, type MeReply, MeUpdateRequest } from '../shapes/identity.js';

/** The signed-in person. */
@Controller()
export class MeController {
  constructor(
    private readonly people: People,
    private readonly config: PanelConfig,
  ) {}

  @Handles('showMe')
  async show(@Req() request: PanelRequest): Promise<MeReply> {
    const { gatewayUrl, traceUrl } = this.config;
    const me = await this.people.show(requireCaller(request).userId);
    // The tracing back end has the traces of all accounts.
    const seesTraces = traceUrl !== 'none' && me.grants.some(({ accountId }) => accountId === null);
    return { ...me, gatewayUrl, traceUrl: seesTraces ? traceUrl : null };
  }

  @Handles('updateMe')
  async update(@Req() request: PanelRequest, @Body() { name, password, currentPassword }: MeUpdateRequest): Promise<Me> {
    const caller = requireCaller(request);
    if (password !== undefined) await this.people.changePassword(caller, currentPassword, password, requestAuthor(request));
    if (name !== undefined) await this.people.rename(caller, name, requestAuthor(request));
    return this.people.show(caller.userId);
  }
}
