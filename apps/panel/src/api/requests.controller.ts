import { Controller, Req, Res } from '@nestjs/common';
import type { Response } from 'express';
import { RequestListRequest, RequestShowRequest, requestList } from '#contracts/billing/requests.js';
import { parsePicoUsd, renderUsd } from '#money/pico-usd.js';
import { Activity } from '../activity/activity.js';
import { Handles, Input } from '../http/route.decorator.js';
import { type PanelRequest, requireCaller } from '../requests/panel-request.js';
import { nameReader, readPages, Services } from '../services/services.js';
import type { BilledRequest, RequestListReply, RequestRow } from '../shapes/billing.js';
import type { ActivityReply } from '../shapes/overview.js';
import { type Columns, fieldColumns, sendCsv } from './csv.js';
import { ownedRequest } from './owned.js';
import { visibleRequest } from './visible-money.js';

/** Rows on a page of a file, the most that billing returns. */
const PAGE_ROWS = 200;

@Controller()
export class RequestsController {
  constructor(
    private readonly services: Services,
    private readonly activity: Activity,
  ) {}

  @Handles('listRequests')
  list(@Req() request: PanelRequest, @Input(RequestListRequest) query: RequestListRequest): Promise<RequestListReply> {
    return this.services.askingFor(request).ask(requestList, query);
  }

  @Handles('downloadRequests')
  async download(
    @Req() request: PanelRequest,
    @Res() response: Response,
    @Input(RequestListRequest) query: RequestListRequest,
  ): Promise<void> {
    const services = this.services.askingFor(request);
    const pages = readPages(async (cursor) => {
      const { requests, nextCursor } = await services.ask(requestList, { ...query, limit: PAGE_ROWS, cursor });
      return { rows: requests, nextCursor };
    });
    await sendCsv(response, 'requests.csv', COLUMNS, pages);
  }

  @Handles('showRequest')
  async show(@Req() request: PanelRequest, @Input(RequestShowRequest) { requestId }: RequestShowRequest): Promise<BilledRequest> {
    const { access } = requireCaller(request);
    return visibleRequest(access, await ownedRequest(this.services.askingFor(request), access, 'requests.read', requestId));
  }

  /** Null when no panel ran as the request ended, when it is older than `ACTIVITY_DAYS`, and for a request of another account. */
  @Handles('showRequestActivity')
  async showActivity(@Req() request: PanelRequest, @Input(RequestShowRequest) { requestId }: RequestShowRequest): Promise<ActivityReply> {
    const activity = await this.activity.show(requestId, nameReader(request, undefined));
    const isTheirs = activity !== undefined && requireCaller(request).access.may('requests.read', activity.accountId);
    return { activity: isTheirs ? activity : null };
  }
}

const COLUMNS: Columns<RequestRow> = {
  ...fieldColumns('requestId', 'accountId', 'projectId', 'keyId', 'model', 'upstream', 'reservedAt', 'settledAt'),
  ending: ({ ending }) => ending ?? 'running',
  promptTokens: ({ usage }) => usage?.promptTokens,
  cachedTokens: ({ usage }) => usage?.cachedTokens,
  outputTokens: ({ usage }) => usage?.outputTokens,
  reasoningTokens: ({ usage }) => usage?.reasoningTokens,
  heldUsd: ({ heldPicoUsd }) => renderUsd(parsePicoUsd(heldPicoUsd)),
  costUsd: ({ costPicoUsd }) => costPicoUsd && renderUsd(parsePicoUsd(costPicoUsd)),
  cacheWriteTokens: ({ usage }) => usage && (usage.cacheWriteTokens ?? 0),
  cacheWrite1hTokens: ({ usage }) => usage && (usage.cacheWrite1hTokens ?? 0),
};
