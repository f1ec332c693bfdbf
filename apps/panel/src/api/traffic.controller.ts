import { Controller, Req } from '@nestjs/common';
import { accountList } from '#contracts/billing/accounts.js';
import { Activity, TrafficQuery } from '../activity/activity.js';
import { gapsSince } from '../activity/recording.js';
import { Handles, Input } from '../http/route.decorator.js';
import type { PanelRequest } from '../requests/panel-request.js';
import { nameReader, Services } from '../services/services.js';
import type { TrafficReply } from '../shapes/overview.js';

@Controller()
export class TrafficController {
  constructor(
    private readonly activity: Activity,
    private readonly services: Services,
  ) {}

  /**
   * Refused requests are included. Numbers are there for the times in which a panel ran; `gaps` has the others, for an account from its
   * opening on.
   */
  @Handles('queryTraffic')
  async query(@Req() request: PanelRequest, @Input(TrafficQuery) query: TrafficQuery): Promise<TrafficReply> {
    const { accountId } = query;
    const [reply, openedAt] = await Promise.all([
      this.activity.traffic(query, nameReader(request, accountId)),
      accountId === undefined ? undefined : this.findOpening(accountId),
    ]);
    return { ...reply, gaps: gapsSince(openedAt, reply.gaps) };
  }

  /** Undefined while billing is away: traffic is the panel's own, and is shown without it. */
  private async findOpening(accountId: string): Promise<Date | undefined> {
    const { accounts } = await this.services.ask(accountList, { accountId }).catch(() => ({ accounts: [] }));
    return accounts[0] && new Date(accounts[0].createdAt);
  }
}
