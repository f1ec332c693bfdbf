/**
 * `POST /playground`. Replies the events of the gateway's `POST /v1/chat/completions` as they come: chunks, the usage, `[DONE]`. The header
 * `x-gateway-request-id` has the id by which `GET /requests/{requestId}` explains the hold and the cost.
 */
export interface PlaygroundBody {
  projectId: string;
  /** Body of the gateway's `POST /v1/chat/completions`. It is always streamed, with its usage. */
  request: Record<string, unknown>;
}
