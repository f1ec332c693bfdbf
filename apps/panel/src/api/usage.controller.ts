import { Controller, Req, Res } from '@nestjs/common';
import type { Response } from 'express';
import { UsageQueryRequest, type UsageRow, usageQuery } from '#contracts/billing/usage.js';
import { parsePicoUsd, renderUsd } from '#money/pico-usd.js';
import { Handles } from '../http/handles.decorator.js';
import type { PanelRequest } from '../http/panel-request.js';
import { pagesOf } from '../services/pages.js';
import { Services } from '../services/services.js';
import { type Columns, sendCsv } from './csv.js';
import { Input } from './input.decorator.js';
import type { UsageQueryReply } from './shapes/usage.js';

/** Rows on a page of a file, the most that billing returns. */
const PAGE_ROWS = 1_000;

@Controller()
export class UsageController {
  constructor(private readonly services: Services) {}

  @Handles('queryUsage')
  query(@Req() request: PanelRequest, @Input(UsageQueryRequest) query: UsageQueryRequest): Promise<UsageQueryReply> {
    return this.services.askingFor(request).ask(usageQuery, { limit: PAGE_ROWS, ...query });
  }

  @Handles('downloadUsage')
  async download(
    @Req() request: PanelRequest,
    @Res() response: Response,
    @Input(UsageQueryRequest) query: UsageQueryRequest,
  ): Promise<void> {
    // Every page repeats the question of the first.
    const question = { ...query, to: query.to ?? new Date().toISOString(), limit: PAGE_ROWS };
    const services = this.services.askingFor(request);
    const pages = pagesOf((cursor) => services.ask(usageQuery, { ...question, cursor }));
    await sendCsv(response, 'usage.csv', columnsOf(query), pages);
  }
}

/** The groups of the question, then the sums. */
function columnsOf({ step, groupBy = [] }: UsageQueryRequest): Columns<UsageRow> {
  return {
    ...(step && { start: ({ start }) => start }),
    ...(groupBy.includes('account') && { accountId: ({ accountId }) => accountId }),
    ...(groupBy.includes('project') && { projectId: ({ projectId }) => projectId }),
    ...(groupBy.includes('key') && { keyId: ({ keyId }) => keyId }),
    ...(groupBy.includes('model') && { model: ({ model }) => model }),
    ...(groupBy.includes('upstream') && { upstream: ({ upstream }) => upstream }),
    ...(groupBy.includes('ending') && { ending: ({ ending }) => ending }),
    requests: ({ requests }) => requests,
    estimatedRequests: ({ estimatedRequests }) => estimatedRequests,
    promptTokens: ({ promptTokens }) => promptTokens,
    cachedTokens: ({ cachedTokens }) => cachedTokens,
    outputTokens: ({ outputTokens }) => outputTokens,
    reasoningTokens: ({ reasoningTokens }) => reasoningTokens,
    costUsd: ({ costPicoUsd }) => renderUsd(parsePicoUsd(costPicoUsd)),
    forfeitedUsd: ({ forfeitedPicoUsd }) => renderUsd(parsePicoUsd(forfeitedPicoUsd)),
  };
}
