import { IsObject } from 'class-validator';
import { Id } from '#contracts/billing/fields.js';
import type { PlaygroundBody } from '../shapes/playground.js';

export class PlaygroundRequest implements PlaygroundBody {
  /** Project that pays, and whose limits apply. */
  @Id() projectId!: string;
  /** Body of the gateway's `POST /v1/chat/completions`. It is always streamed, with its usage. The gateway checks it. */
  @IsObject() request!: Record<string, unknown>;
}
