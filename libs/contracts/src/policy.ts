import { IsBoolean, IsIn, IsInt, IsOptional, IsString, Max, Min } from 'class-validator';
import { type Attribution, AttributionOf } from './billing/attribution.js';
import { Id, NestedList, Text } from './billing/fields.js';
import { NamedEndpoint } from './endpoint.js';
import { TOKENS_MAX } from './rules/bounds.js';

/** Bytes of a request to a policy, as JSON: with its headers it fits one message of a NATS server with the default `max_payload`. */
export const POLICY_REQUEST_BYTES_MAX = 960 * 1024;
/** Bytes of a verdict: more than the most spans, and tags. */
export const POLICY_REPLY_BYTES_MAX = 128 * 1024;
/** Spans of one verdict. */
export const POLICY_SPANS_MAX = 1_000;
/** Characters of the sentence of a refusal. */
export const POLICY_SENTENCE_LENGTH_MAX = 300;

/** Kinds of texts in a prompt. */
export const PROMPT_TEXT_KINDS = [
  'system',
  'user',
  'assistant',
  'reasoning',
  'tool-call',
  'tool-result',
  'tool-definition',
  'output-schema',
  'embedding-input',
] as const;
export type PromptTextKind = (typeof PROMPT_TEXT_KINDS)[number];

/** One text of a prompt. Arguments of calls, parameters of tools and schemas are JSON as text. */
export class PromptText {
  @IsIn(PROMPT_TEXT_KINDS) kind!: PromptTextKind;
  @IsString() text!: string;
}

export class PolicyDecideRequest {
  @Text(128) requestId!: string;
  @Id() accountId!: string;
  @Id() projectId!: string;
  @Id() keyId!: string;
  @Text(256) model!: string;
  @IsBoolean() stream!: boolean;
  @IsInt() @Min(0) @Max(TOKENS_MAX) promptTokensEstimate!: number;
  /** The output cap of the request; 0 for embeddings. */
  @IsInt() @Min(0) @Max(TOKENS_MAX) outputTokensMax!: number;
  /** Images of the prompt, which are not sent. */
  @IsInt() @Min(0) images!: number;
  /** True when inputs of embeddings are tokens, which are not sent. Absent: none is. */
  @IsOptional() @IsBoolean() hasTokenInputs?: boolean;
  /** End user, client, session, agent and tags of the request. Absent: none is known. */
  @IsOptional() @AttributionOf() attribution?: Attribution;
  /** Texts of the prompt in their order. Absent: the project does not send them. */
  @IsOptional() @NestedList(() => PromptText, 1_000_000) texts?: PromptText[];
}

/** A part of a text that no model may get. Characters are code points of Unicode, as in Python and Go, not units of UTF-16. */
export interface RedactedSpan {
  /** Index in `texts`. */
  text: number;
  /** First character of the span. */
  start: number;
  /** Character after the span: above `start`, and at most the length of the text. */
  end: number;
}

/** The reply of a policy. Any other field, type or size makes it invalid, and the policy has failed: a misspelt field must not let a secret pass. */
export interface PolicyVerdict {
  verdict: 'allow' | 'deny';
  /** Sentence for the client, of 1 to 300 characters in one line. With `deny` only, and required there. */
  message?: string;
  /** Spans that `[redacted]` replaces, at most 1,000. Those that touch or overlap are replaced as one. With `allow` only, like the next two. */
  redact?: RedactedSpan[];
  /** Lowers the output cap. A higher one changes nothing. */
  outputTokensMax?: number;
  /** Tags of the request by name, at most 16. They replace those of the client with the same name. */
  tags?: Record<string, string>;
}

/** Programs of the operator answer, one subject for each policy. Errors and silence count as failures, for which the project decides. */
export const policyDecide = new NamedEndpoint<PolicyDecideRequest, PolicyVerdict>('policy.v1.decide.*', PolicyDecideRequest, {
  about: 'Asks the policy of a project about a request, before its hold',
  isRepeatable: true,
});
