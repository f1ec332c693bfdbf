import { ArrayMaxSize, IsArray, IsIn, IsInt, IsOptional, Max, Min } from 'class-validator';
import { Endpoint } from '../endpoint.js';
import { Id, Instant, type Paged, Text } from './fields.js';

/** Kinds of movements besides requests. `forfeit` is the unused part of a grant at its end. */
export const MOVEMENT_KINDS = ['topup', 'grant', 'forfeit', 'refund', 'credit', 'debit', 'credit-note'] as const;
export type MovementKind = (typeof MOVEMENT_KINDS)[number];

export class MovementListRequest {
  @Id() accountId!: string;
  /** Start, included. */
  @IsOptional() @Instant() from?: string;
  /** End, excluded. */
  @IsOptional() @Instant() to?: string;
  @IsOptional() @IsArray() @ArrayMaxSize(7) @IsIn(MOVEMENT_KINDS, { each: true }) kinds?: MovementKind[];
  /** Movements on one page. Default 100. */
  @IsOptional() @IsInt() @Min(1) @Max(200) limit?: number;
  /** `nextCursor` of the page before, with the same account. */
  @IsOptional() @Text(2_000) cursor?: string;
}

export interface Movement {
  movementId: string;
  kind: MovementKind;
  /** Change of the balance, negative when it took money. */
  amountPicoUsd: string;
  /** Id given by the caller: payment, grant, refund, adjustment or credit note. Null without one. */
  reference: string | null;
  grantId: string | null;
  /** Movement of the refunded top-up. Null for other kinds, and for a refund of all top-ups. */
  refundOf: string | null;
  /** Hold of the request that a credit note is for. Null for other kinds. */
  noteOf: string | null;
  reason: string | null;
  createdAt: string;
}

export interface MovementListReply extends Paged {
  movements: Movement[];
}

export const movementList = new Endpoint<MovementListRequest, MovementListReply>('billing.v1.movement.list', MovementListRequest, {
  about: 'Statement of account: movements of money besides requests, newest first',
});
