import { IsBoolean, IsIn, IsInt, IsOptional, IsString, Length, Matches, Max, Min, ValidateBy } from 'class-validator';
import { Nested } from './billing/fields.js';
import { UPSTREAM_KINDS, type Upstream, type UpstreamCapabilities } from './catalog.js';
import { StreamEndpoint } from './endpoint.js';
import { isBaseUrl, SECRET_FILE_NAME, VARIABLE_NAME } from './upstream-rules.js';

const SECRET_FILE = {
  message: "$property must be the name of a file in the inference-proxy's UPSTREAM_SECRETS_DIR, never the secret itself",
};

/** Files in the folder of secrets of the inference-proxy. The certificate and its key go together. */
export class CandidateTls {
  @IsOptional() @Length(1, 256) @Matches(SECRET_FILE_NAME, SECRET_FILE) caFile?: string;
  @IsOptional() @Length(1, 256) @Matches(SECRET_FILE_NAME, SECRET_FILE) certFile?: string;
  @IsOptional() @Length(1, 256) @Matches(SECRET_FILE_NAME, SECRET_FILE) keyFile?: string;
}

/** An upstream that is not in the catalog yet. The rules are those of the catalog. */
export class UpstreamCandidate {
  @IsIn(UPSTREAM_KINDS) kind!: Upstream['kind'];
  @ValidateBy({
    name: 'isBaseUrl',
    validator: {
      validate: isBaseUrl,
      defaultMessage: () => 'baseUrl must be an http:// or https:// URL without credentials, query or fragment',
    },
  })
  baseUrl!: string;
  /** Variable of the inference-proxy that holds the key. The key itself is never sent. */
  @IsOptional()
  @Matches(VARIABLE_NAME, { message: 'apiKeyEnv must be the name of an environment variable, never the key itself' })
  apiKeyEnv?: string;
  /** A file in the folder of secrets of the inference-proxy, in place of a variable. */
  @IsOptional() @Length(1, 256) @Matches(SECRET_FILE_NAME, SECRET_FILE) apiKeyFile?: string;
  /** Default false. */
  @IsOptional() @IsBoolean() allowPrivateNetwork?: boolean;
  /** Only with `https://`. Default: the public authorities, no client certificate. */
  @IsOptional() @Nested(() => CandidateTls) tls?: CandidateTls;
}

export class UpstreamProbeRequest {
  /** Id in the catalog, or of `candidate`. */
  @Matches(/^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,63}$/, { message: 'upstreamId must be an id' }) upstreamId!: string;
  @IsOptional() @Nested(() => UpstreamCandidate) candidate?: UpstreamCandidate;
  /** Model name at the upstream. Default: the models of its routes, the first in full. */
  @IsOptional() @IsString() @Length(1, 256) model?: string;
  /** Context size to test. Default: the size that the upstream lists, if a test of it is cheap. */
  @IsOptional() @IsInt() @Min(1) @Max(2_000_000) contextTokens?: number;
}

/** `unclear`: the answer says neither. `skipped`: not asked. */
type Verdict = 'yes' | 'no' | 'unclear' | 'skipped';

export interface UpstreamCheck {
  id: string;
  /** The question, for people. */
  title: string;
  verdict: Verdict;
  /** Short reason. Text of the upstream is shortened and redacted. */
  evidence: string;
  milliseconds: number;
}

export interface UpstreamProbeStart {
  type: 'test-start';
  upstreamId: string;
  kind: Upstream['kind'];
  model: string;
  isInCatalog: boolean;
}

/** A capability that the upstream answered for itself. */
export interface CapabilityChange {
  name: keyof UpstreamCapabilities;
  /** Value in the catalog, or the default. */
  catalog: boolean | string | number | null;
  found: boolean | string | number | null;
}

export interface UpstreamProbeEnd {
  type: 'test-end';
  /** True when it serves a plain text request. */
  servesText: boolean;
  /** Milliseconds from the request to the first content of a stream. Null without content. */
  firstContentMs: number | null;
  /** Null when the reply came too fast or at once. */
  tokensPerSecond: number | null;
  /** Cost of the test, reported or estimated. */
  requests: number;
  promptTokens: number;
  outputTokens: number;
  /** Capabilities that fit the upstream. Unknown ones keep their value. */
  capabilities: UpstreamCapabilities;
  changes: CapabilityChange[];
  /** Facts for the model entry. `contextTokens` is what the upstream lists. */
  modelFacts: { input: ('text' | 'image')[]; reasoning: boolean; contextTokens: number | null };
}

/** One start, then checks, then one end. */
export type UpstreamProbeEvent = UpstreamProbeStart | { type: 'check-end'; check: UpstreamCheck } | UpstreamProbeEnd;

/**
 * Sends small requests to an upstream and reports its capabilities, check by check. Bounded in time and tokens, billed to no account.
 * Errors: `not_found` for an unknown upstream, `invalid_request` without a model, `unavailable` when too many tests run.
 */
export const upstreamProbe = new StreamEndpoint<UpstreamProbeRequest, UpstreamProbeEvent>(
  'inference.v1.upstream.test',
  UpstreamProbeRequest,
  'Reports the capabilities of an upstream',
  { isRecorded: true },
);
