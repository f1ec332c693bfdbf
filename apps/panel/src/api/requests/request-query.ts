import { IsIn, IsInt, IsOptional, Max, Min } from 'class-validator';
import { Text } from '#contracts/billing/fields.js';
import { RequestFilters } from '#contracts/billing/requests.js';
import { REQUEST_ORDERS, REQUEST_SORTS, type RequestOrder, type RequestSort } from '#contracts/rules/request-order.js';
import { LISTED_ENDINGS, type ListedEnding } from '../../shapes/requests.js';

/** Query of the list of requests. Refused ones have no upstream, cost and duration: with such a filter the list has none of them. */
export class RequestQuery extends RequestFilters {
  /** Only requests that ended like this. */
  @IsOptional() @IsIn(LISTED_ENDINGS) ending?: ListedEnding;
  /** Only requests whose client got this HTTP status: as far as the panel recorded it. */
  @IsOptional() @IsInt() @Min(100) @Max(599) status?: number;
  /** Only requests whose client got this code: as far as the panel recorded it. */
  @IsOptional() @Text(64) code?: string;
}

/** Query of a page of the list. A file has one order, because sorting reads the whole time for each page. */
export class RequestListQuery extends RequestQuery {
  /** Default: `time`. Every other order than newest first has the ended requests of the time alone, at most 200,000. */
  @IsOptional() @IsIn(REQUEST_SORTS) sort?: RequestSort;
  /** Default: `desc`, the newest or largest first. */
  @IsOptional() @IsIn(REQUEST_ORDERS) order?: RequestOrder;
}
