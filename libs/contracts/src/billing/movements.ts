import { ArrayMaxSize, IsArray, IsIn, IsInt, IsOptional, Max, Min } from 'class-validator';
import { Endpoint } from '../endpoint.js';
import { Id, Instant, Text } from './fields.js';

/** What moves money besides requests. `forfeit` is what nobody had used of a grant when it ended. */
export const MOVEMENT_KINDS = ['topup', 'grant', 'forfeit', 'refund', 'credit', 'debit'] as const;
export type MovementKind = (typeof MOVEMENT_KINDS)[number];

export class MovementListRequest {
  @Id() accountId!: string;
  /** From this time on. */
  @IsOptional() @Instant() from?: string;
  /** Up to this time, which is not included. */
  @IsOptional() @Instant() to?: string;
  @IsOptional() @IsArray() @ArrayMaxSize(6) @IsIn(MOVEMENT_KINDS, { each: true }) kinds?: MovementKind[];
  /** Movements on one page. Default 100. */
  @IsOptional() @IsInt() @Min(1) @Max(200) limit?: number;
  /** `nextCursor` of the page before, with the same account. */
  @IsOptional() @Text(2_000) cursor?: string;
}

export interface Movement {
  movementId: string;
  kind: MovementKind;
  /** What it added to the balance; below zero, what it took. */
  amountPicoUsd: string;
  /** The caller's own id: payment, grant, refund or adjustment. Null where nobody gave one. */
  reference: string | null;
  grantId: string | null;
  /** Of a refund: the movement it took back. Null: it is against all top-ups. */
  refundOf: string | null;
  reason: string | null;
  createdAt: string;
}

export interface MovementListReply {
  movements: Movement[];
  /** Null: this was the last page. */
  nextCursor: string | null;
}

export const movementList = new Endpoint<MovementListRequest, MovementListReply>(
  'billing.v1.movement.list',
  MovementListRequest,
  'Statement of account: all that moved money besides requests, newest first',
);
