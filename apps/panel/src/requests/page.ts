import { Transform } from 'class-transformer';
import { IsInt, IsOptional, Max, Min } from 'class-validator';
import { Id, Text } from '#contracts/billing/fields.js';
import { SEARCH_LENGTH_MAX } from '#contracts/rules/bounds.js';

const LIMIT_DEFAULT = 100;

/** Query of a list whose rows have ids in the order of time. */
export class PageQuery {
  /** Rows on one page. Default 100. */
  @IsOptional() @Transform(({ value }) => (value === undefined ? undefined : Number(value))) @IsInt() @Min(1) @Max(200) limit?: number;
  /** `nextCursor` of the page before. */
  @IsOptional() @Id() cursor?: string;
}

export class ScopeQuery {
  @IsOptional() @Id() accountId?: string;
  @IsOptional() @Id() projectId?: string;
}

export class ScopedPageQuery extends PageQuery {
  @IsOptional() @Id() accountId?: string;
}

export class MemberPageQuery extends ScopedPageQuery {
  /** Only people whose name or e-mail has this text, in upper or lower case. */
  @IsOptional() @Text(SEARCH_LENGTH_MAX) search?: string;
}

/** Arguments of a Prisma query for one page, newest first, and one row more, which tells whether there is a next page. */
export function newestFirst({ limit = LIMIT_DEFAULT, cursor }: PageQuery): {
  orderBy: { id: 'desc' };
  take: number;
  cursor?: { id: string };
  skip?: number;
} {
  return { orderBy: { id: 'desc' }, take: limit + 1, ...(cursor !== undefined && { cursor: { id: cursor }, skip: 1 }) };
}

/** Returns the rows of the page that `newestFirst` asked for. */
export function toPage<Row extends { id: string }>(
  rows: readonly Row[],
  { limit = LIMIT_DEFAULT }: PageQuery,
): { rows: Row[]; nextCursor: string | null } {
  const page = rows.slice(0, limit);
  return { rows: page, nextCursor: rows.length > limit ? (page.at(-1)?.id ?? null) : null };
}
