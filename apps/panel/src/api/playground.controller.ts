import { Body, Controller, Req, Res } from '@nestjs/common';
import type { Response } from 'express';
import { PanelError } from '../errors/panel-error.js';
import { Handles } from '../http/route.decorator.js';
import { Playground } from '../playground/playground.js';
import { type PanelRequest, requireCaller } from '../requests/panel-request.js';
import { Services } from '../services/services.js';
import { PlaygroundRequest } from '../shapes/playground.js';
import { ownedProject } from './owned.js';

@Controller()
export class PlaygroundController {
  constructor(
    private readonly services: Services,
    private readonly playground: Playground,
  ) {}

  /**
   * The gateway holds, streams and bills the request like any other. It is sent with a key of one hour, which the panel makes for the
   * session and revokes at its end. A client that disconnects stops the request and pays for what it received. At most three requests of
   * a caller run at once, each for up to ten minutes.
   */
  @Handles('runPlayground')
  async run(@Req() request: PanelRequest, @Res() response: Response, @Body() body: PlaygroundRequest): Promise<void> {
    const project = await ownedProject(this.services, requireCaller(request).access, 'playground', body.projectId);
    if (!project.enabled) throw new PanelError('conflict', 'The project is disabled.', { param: 'projectId' });
    const mayReadMoney = requireCaller(request).access.may('money.read', project.accountId);
    await this.playground.run(request, response, body, mayReadMoney);
  }
}
