import { Controller, Inject, Req } from '@nestjs/common';
import { Activity } from '../activity/activity.js';
import { Handles, Input } from '../http/route.decorator.js';
import { type PanelRequest, requireCaller } from '../requests/panel-request.js';
import { nameReader, Services } from '../services/services.js';
import type { Overview } from '../shapes/overview.js';
import { PlatformWarnings } from './overview/platform-warnings.js';
import { OverviewQuery, readOverview } from './overview/read-overview.js';
import { visibleOverview } from './visible-money.js';

export const PROCESS_SERVICES = Symbol('services of the process');

@Controller()
export class OverviewController {
  constructor(
    private readonly services: Services,
    private readonly activity: Activity,
    private readonly warnings: PlatformWarnings,
    @Inject(PROCESS_SERVICES) private readonly processServices: readonly string[],
  ) {}

  @Handles('showOverview')
  async show(@Req() request: PanelRequest, @Input(OverviewQuery) query: OverviewQuery): Promise<Overview> {
    const { access } = requireCaller(request);
    const isOperator = access.may('upstreams.read', null);
    const overview = await readOverview(
      this.services.askingFor(request),
      this.activity,
      query,
      nameReader(request, query.accountId),
      async () => (isOperator ? this.warnings.read() : this.warnings.modelsDown()),
    );
    const ofPlatform = isOperator && query.accountId === undefined;
    return {
      ...visibleOverview(access, query.accountId ?? null, overview),
      processServices: ofPlatform ? [...this.processServices] : null,
    };
  }
}
