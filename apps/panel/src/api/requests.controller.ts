import { Controller, Req, Res } from '@nestjs/common';
import type { Response } from 'express';
import { receiptShow } from '#contracts/billing/receipts.js';
import { RequestShowRequest } from '#contracts/billing/requests.js';
import { parsePicoUsd, renderUsd } from '#money/pico-usd.js';
import { Activity } from '../activity/activity.js';
import { Handles, Input } from '../http/route.decorator.js';
import { type PanelRequest, requireCaller } from '../requests/panel-request.js';
import { type Names, readNames } from '../services/read-names.js';
import { nameReader, onePage, readPages, Services } from '../services/services.js';
import type { BilledRequest } from '../shapes/billing.js';
import type { ActivityReply } from '../shapes/overview.js';
import type { ListedRequest, RequestListReply } from '../shapes/requests.js';
import { type Columns, fieldColumns, nameFile, sendCsv, sendFile } from './csv.js';
import { ownedRequest } from './owned.js';
import { RECEIPT_TYPE } from './receipt-type.js';
import { listRequests } from './requests/list-requests.js';
import { readRecords } from './requests/read-records.js';
import { RequestListQuery, RequestQuery } from './requests/request-query.js';
import { visibleActivity } from './visible-activity.js';
import { visibleRequest } from './visible-money.js';

/** Rows on a page of a file, the most that billing returns. */
const PAGE_ROWS = 200;

@Controller()
export class RequestsController {
  constructor(
    private readonly services: Services,
    private readonly activity: Activity,
  ) {}

  /** Refused requests are those that the panel recorded: of one key, status and code ten a minute of each replica, for `ACTIVITY_DAYS`. */
  @Handles('listRequests')
  list(@Req() request: PanelRequest, @Input(RequestListQuery) query: RequestListQuery): Promise<RequestListReply> {
    const records = readRecords(this.activity, requireCaller(request).access, nameReader(request, query.accountId));
    return listRequests(this.services.askingFor(request), records, query);
  }

  @Handles('downloadRequests')
  async download(@Req() request: PanelRequest, @Res() response: Response, @Input(RequestQuery) query: RequestQuery): Promise<void> {
    const pages = readPages(async (cursor) => {
      const { requests, nextCursor } = await this.list(request, { ...query, limit: PAGE_ROWS, cursor });
      return { rows: requests, nextCursor };
    });
    const names = await readNames(this.services.askingFor(request), NAMED, { accountId: query.accountId, projectId: query.projectId });
    const file = nameFile('requests', query.accountId && (names('account', query.accountId) ?? ''), {
      from: query.from,
      to: query.to ?? new Date().toISOString(),
    });
    await sendCsv(response, file, { ...COLUMNS, ...nameColumns(names) }, pages);
  }

  @Handles('showRequest')
  async show(@Req() request: PanelRequest, @Input(RequestShowRequest) { requestId }: RequestShowRequest): Promise<BilledRequest> {
    const { access } = requireCaller(request);
    return visibleRequest(access, await ownedRequest(this.services.askingFor(request), access, 'requests.read', requestId));
  }

  /** The receipt names the cost of the account's month, so it takes the permission to see money. */
  @Handles('downloadReceipt')
  async downloadReceipt(
    @Req() request: PanelRequest,
    @Res() response: Response,
    @Input(RequestShowRequest) { requestId: named }: RequestShowRequest,
  ): Promise<void> {
    const services = this.services.askingFor(request);
    const { requestId } = await ownedRequest(services, requireCaller(request).access, 'money.read', named);
    const { file } = await services.ask(receiptShow, { requestId });
    const name = `receipt-${requestId.replace(/[^A-Za-z0-9_-]+/g, '-')}.jsonl`;
    await sendFile(response, { name, type: RECEIPT_TYPE }, onePage(file));
  }

  /** Null when no panel ran as the request ended, when it is older than `ACTIVITY_DAYS`, and for a request of another account or project. */
  @Handles('showRequestActivity')
  async showActivity(@Req() request: PanelRequest, @Input(RequestShowRequest) { requestId }: RequestShowRequest): Promise<ActivityReply> {
    const activity = await this.activity.show(requestId, nameReader(request, undefined));
    const { access } = requireCaller(request);
    const isTheirs = activity !== undefined && access.may('requests.read', activity.accountId, activity.projectId);
    return { activity: isTheirs ? visibleActivity(access, activity) : null };
  }
}

const NAMED = ['account', 'project', 'key'] as const;

/** Names beside the ids, last, so that the columns before them stay where programs look for them. */
function nameColumns(names: Names): Columns<ListedRequest> {
  return Object.fromEntries(NAMED.map((resource) => [resource, (row: ListedRequest) => names(resource, row[`${resource}Id`])]));
}

const COLUMNS: Columns<ListedRequest> = {
  ...fieldColumns('requestId', 'accountId', 'projectId', 'keyId', 'model', 'upstream', 'reservedAt', 'settledAt'),
  ending: ({ ending }) => ending ?? 'running',
  promptTokens: ({ usage }) => usage?.promptTokens,
  cachedTokens: ({ usage }) => usage?.cachedTokens,
  outputTokens: ({ usage }) => usage?.outputTokens,
  reasoningTokens: ({ usage }) => usage?.reasoningTokens,
  heldUsd: ({ heldPicoUsd }) => heldPicoUsd && renderUsd(parsePicoUsd(heldPicoUsd)),
  costUsd: ({ costPicoUsd }) => costPicoUsd && renderUsd(parsePicoUsd(costPicoUsd)),
  cacheWriteTokens: ({ usage }) => usage && (usage.cacheWriteTokens ?? 0),
  cacheWrite1hTokens: ({ usage }) => usage && (usage.cacheWrite1hTokens ?? 0),
  ...fieldColumns('status', 'code', 'message'),
};
