import { IsBoolean, IsInt, IsObject, IsOptional, Max, Min } from 'class-validator';
import type { InferenceRequest } from '#inference/request.js';
import type { StreamEvent } from '#inference/stream-event.js';
import { Id, Nested, Text } from './billing/fields.js';
import { StreamEndpoint } from './endpoint.js';
import { EMBEDDING_DIMENSIONS_MAX, TOKENS_MAX } from './rules/bounds.js';

/** Permission to run one request: its hold, and the caps that keep its cost within the hold. */
export class Ticket {
  @Id() holdId!: string;
  @Id() accountId!: string;
  @Text(128) requestId!: string;
  /** For log lines. */
  @IsOptional() @Id() keyId?: string;
  /** Sent upstream as the output cap; 0 for embeddings. */
  @IsInt() @Min(0) @Max(TOKENS_MAX) outputTokensMax!: number;
  /** Estimated prompt tokens, used when the upstream reports no usage. */
  @IsInt() @Min(1) @Max(TOKENS_MAX) promptTokensEstimate!: number;
  /** Lease of the hold, which the proxy renews. */
  @IsInt() @Min(1) leaseMs!: number;
  /** Length of the vectors of a request for embeddings. */
  @IsOptional() @IsInt() @Min(1) @Max(EMBEDDING_DIMENSIONS_MAX) embeddingDimensions?: number;
  /** True when the stream shall end with an `attempts-report`. */
  @IsOptional() @IsBoolean() reportsAttempts?: boolean;
}

export class GenerateRequest {
  @Nested(() => Ticket) ticket!: Ticket;
  /** Made and checked by the gateway. Another check of up to 8 MB would cost more than the rest of the proxy. */
  @IsObject() request!: InferenceRequest;
}

/**
 * Streams the events of `stream-event.ts`; a plain request is one batch. A failure to start is a `completion-failure` event. After a cancel
 * the stream still sends what was received and a `usage-report`, then ends.
 */
export const generate = new StreamEndpoint<GenerateRequest, StreamEvent>('inference.v1.generate', GenerateRequest, {
  about: 'Runs a request on an upstream and streams its reply',
});
