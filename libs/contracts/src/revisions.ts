import { IsInt, IsOptional, Max, Min } from 'class-validator';

/** Largest `integer` of Postgres. */
export const REVISION_MAX = 2 ** 31 - 1;

export class RevisionRequest {
  /** The newest revision the caller knows. A replica that has an older one reads again before it answers. */
  @IsOptional() @IsInt() @Min(0) known?: number;
}

export class RevisionChanged {
  @IsInt() @Min(1) @Max(Number.MAX_SAFE_INTEGER) revision!: number;
}

export interface Revisioned {
  /** Increases with every applied change. */
  revision: number;
  /** The database has no revision as new as `known`: it was restored to an older state. */
  wentBack?: true;
}
