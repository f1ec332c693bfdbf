import { IsInt, IsObject, Max, Min } from 'class-validator';
import type { InferenceRequest } from '#inference/request.js';
import type { StreamEvent } from '#inference/stream-event.js';
import { Id, Nested, Text, TOKENS_MAX } from './billing/fields.js';
import { StreamEndpoint } from './endpoint.js';

/** The right to run one request: what was held for it, and the caps that keep it within the hold. */
export class Ticket {
  @Id() holdId!: string;
  @Id() accountId!: string;
  @Text(128) requestId!: string;
  /** Sent upstream as the output cap. */
  @IsInt() @Min(1) @Max(TOKENS_MAX) outputTokensMax!: number;
  /** The prompt by the one estimator: used where the upstream reports no usage. */
  @IsInt() @Min(1) @Max(TOKENS_MAX) promptTokensEstimate!: number;
  /** The lease the hold was made with; the proxy renews it. */
  @IsInt() @Min(1) leaseMs!: number;
}

export class GenerateRequest {
  @Nested(() => Ticket) ticket!: Ticket;
  /** Made by the gateway and trusted as it is: validating it again would cost more than everything else. */
  @IsObject() request!: InferenceRequest;
}

/**
 * Answers with the events of `stream-event.ts`. A plain request (`request.stream` false) is one batch. Failures to start
 * are a `completion-failure` event like any other. After a cancel the stream still brings what had been received, with a
 * `usage-report`, and ends.
 */
export const generate = new StreamEndpoint<GenerateRequest, StreamEvent>(
  'inference.v1.generate',
  GenerateRequest,
  'Runs a request on the best upstream and streams what it says',
);
