import { IsInt, IsOptional, Max, Min } from 'class-validator';

/** Asks for something that is kept in revisions. */
export class RevisionRequest {
  /** The newest revision the caller knows to exist. Whoever has read less reads again before it answers. */
  @IsOptional() @IsInt() @Min(0) known?: number;
}

/** A service has a new revision of what it keeps. */
export class RevisionChanged {
  @IsInt() @Min(1) @Max(Number.MAX_SAFE_INTEGER) revision!: number;
}

export interface Revisioned {
  /** Increases with every applied change. */
  revision: number;
  /** There is no revision as new as the `known` of the request: the database was put back to an older state. */
  wentBack?: true;
}
