import { IsIn, IsInt, IsOptional, Max, Min } from 'class-validator';
import { Text } from '#contracts/billing/fields.js';
import { RequestFilters } from '#contracts/billing/requests.js';
import { LISTED_ENDINGS, type ListedEnding } from '../../shapes/requests.js';

/** Query of the list of requests. Refused ones have no upstream, user, tag, cost and duration: with such a filter the list has none of them. */
export class RequestQuery extends RequestFilters {
  /** Only requests that ended like this. */
  @IsOptional() @IsIn(LISTED_ENDINGS) ending?: ListedEnding;
  /** Only requests whose client got this HTTP status: as far as the panel recorded it. */
  @IsOptional() @IsInt() @Min(100) @Max(599) status?: number;
  /** Only requests whose client got this code: as far as the panel recorded it. */
  @IsOptional() @Text(64) code?: string;
}
