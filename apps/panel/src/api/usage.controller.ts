import { Controller, Req, Res } from '@nestjs/common';
import type { Response } from 'express';
import { USAGE_GROUPS, type UsageGroup, UsageQueryRequest, type UsageRow, usageQuery } from '#contracts/billing/usage.js';
import { parsePicoUsd, renderUsd } from '#money/pico-usd.js';
import { Handles, Input } from '../http/route.decorator.js';
import type { PanelRequest } from '../requests/panel-request.js';
import { readPages, Services } from '../services/services.js';
import type { UsageQueryReply } from '../shapes/billing.js';
import { type Columns, sendCsv } from './csv.js';

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
    const pages = readPages((cursor) => services.ask(usageQuery, { ...question, cursor }));
    await sendCsv(response, 'usage.csv', chooseColumns(query), pages);
  }
}

/** Column of each thing that usage can be grouped by. */
const GROUP_COLUMNS = {
  account: { accountId: ({ accountId }) => accountId },
  project: { projectId: ({ projectId }) => projectId },
  key: { keyId: ({ keyId }) => keyId },
  model: { model: ({ model }) => model },
  upstream: { upstream: ({ upstream }) => upstream },
  ending: { ending: ({ ending }) => ending },
  user: { user: ({ user }) => user },
  tag: { tag: ({ tag }) => tag },
  client: { client: ({ client }) => client },
  session: { session: ({ session }) => session },
} satisfies Record<UsageGroup, Columns<UsageRow>>;

/** The groups of the question in their usual order, then the sums. */
function chooseColumns({ step, groupBy = [] }: UsageQueryRequest): Columns<UsageRow> {
  return {
    ...(step && { start: ({ start }) => start }),
    ...Object.assign({}, ...USAGE_GROUPS.filter((group) => groupBy.includes(group)).map((group) => GROUP_COLUMNS[group])),
    requests: ({ requests }) => requests,
    estimatedRequests: ({ estimatedRequests }) => estimatedRequests,
    promptTokens: ({ promptTokens }) => promptTokens,
    cachedTokens: ({ cachedTokens }) => cachedTokens,
    outputTokens: ({ outputTokens }) => outputTokens,
    reasoningTokens: ({ reasoningTokens }) => reasoningTokens,
    costUsd: ({ costPicoUsd }) => renderUsd(parsePicoUsd(costPicoUsd)),
    forfeitedUsd: ({ forfeitedPicoUsd }) => renderUsd(parsePicoUsd(forfeitedPicoUsd)),
    cacheWriteTokens: ({ cacheWriteTokens }) => cacheWriteTokens ?? 0,
    cacheWrite1hTokens: ({ cacheWrite1hTokens }) => cacheWrite1hTokens ?? 0,
  };
}
