import { Controller, Req, Res } from '@nestjs/common';
import type { Response } from 'express';
import { USAGE_GROUPS, type UsageGroup, UsageQueryRequest, type UsageRow, usageQuery } from '#contracts/billing/usage.js';
import { parsePicoUsd, renderUsd } from '#money/pico-usd.js';
import { Handles, Input } from '../http/route.decorator.js';
import type { PanelRequest } from '../requests/panel-request.js';
import { type NamedResource, type Names, readNames } from '../services/read-names.js';
import { readPages, Services } from '../services/services.js';
import type { UsageQueryReply } from '../shapes/billing.js';
import { type Columns, fieldColumns, nameFile, sendCsv } from './csv.js';

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
    const named = NAMED.filter((resource) => query.groupBy?.includes(resource));
    const names = await readNames(services, [...new Set<NamedResource>(['account', ...named])], { accountId: query.accountId });
    const pages = readPages((cursor) => services.ask(usageQuery, { ...question, cursor }));
    const name = nameFile('usage', query.accountId && (names('account', query.accountId) ?? ''), question);
    await sendCsv(response, name, { ...chooseColumns(query), ...nameColumns(named, names) }, pages);
  }
}

const NAMED = ['account', 'project', 'key'] as const;

/** Names beside the ids, last, so that the columns before them stay where programs look for them. */
function nameColumns(resources: readonly (typeof NAMED)[number][], names: Names): Columns<UsageRow> {
  return Object.fromEntries(resources.map((resource) => [resource, (row: UsageRow) => names(resource, row[`${resource}Id`])]));
}

/** The groups of the question in their usual order, then the sums. */
function chooseColumns({ step, groupBy = [] }: UsageQueryRequest): Columns<UsageRow> {
  return {
    ...(step && fieldColumns('start')),
    ...fieldColumns(...USAGE_GROUPS.filter((group) => groupBy.includes(group)).map(findField)),
    ...fieldColumns('requests', 'estimatedRequests', 'promptTokens', 'cachedTokens', 'outputTokens', 'reasoningTokens'),
    costUsd: ({ costPicoUsd }) => renderUsd(parsePicoUsd(costPicoUsd)),
    forfeitedUsd: ({ forfeitedPicoUsd }) => renderUsd(parsePicoUsd(forfeitedPicoUsd)),
    cacheWriteTokens: ({ cacheWriteTokens }) => cacheWriteTokens ?? 0,
    cacheWrite1hTokens: ({ cacheWrite1hTokens }) => cacheWrite1hTokens ?? 0,
    quantity: ({ quantity }) => quantity ?? 0,
  };
}

/** Returns the field of a row with the value of a group. */
function findField(group: UsageGroup) {
  return group === 'account' || group === 'project' || group === 'key' ? (`${group}Id` as const) : group;
}
