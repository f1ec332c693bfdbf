import { IsObject } from 'class-validator';
import { Id } from '#contracts/billing/fields.js';

// `POST /playground`. Replies the events of the gateway's `POST /v1/chat/completions` as they come: chunks, the usage, `[DONE]`. The header
// `x-gateway-request-id` has the id by which `GET /requests/{requestId}` explains the hold and the cost.
export class PlaygroundRequest {
  /** Project that pays, and whose limits apply. */
  @Id() projectId!: string;
  /** Body of the gateway's `POST /v1/chat/completions`. It is always streamed, with its usage. The gateway checks it. */
  @IsObject() request!: Record<string, unknown>;
}
