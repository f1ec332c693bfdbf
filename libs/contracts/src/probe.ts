import { ArrayMaxSize, IsBoolean, IsIn, IsInt, IsOptional, IsString, Length, Matches, Max, Min, ValidateBy } from 'class-validator';
import { Nested } from './billing/fields.js';
import { UPSTREAM_KINDS, type Upstream, type UpstreamCapabilities } from './catalog.js';
import { Endpoint, StreamEndpoint } from './endpoint.js';
import { authFault, type UpstreamAuth } from './upstream-auth.js';
import { bodyFault, headersFault, pathFault, queryFault, type SecretSource } from './upstream-request.js';
import { isBaseUrl, isUpstreamProxy, KEY_VARIABLE, SECRET_FILE_NAME, UPSTREAM_PROXY_RULE } from './upstream-rules.js';

const UPSTREAM_ID = /^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,63}$/;
const UPSTREAM_ID_RULE = { message: 'upstreamId must be an id' };

const SECRET_FILE = {
  message: "$property must be the name of a file in the inference-proxy's UPSTREAM_SECRETS_DIR, never the secret itself",
};

/** Files in the folder of secrets of the inference-proxy. The certificate and its key go together. */
export class CandidateTls {
  @IsOptional() @Length(1, 256) @Matches(SECRET_FILE_NAME, SECRET_FILE) caFile?: string;
  @IsOptional() @Length(1, 256) @Matches(SECRET_FILE_NAME, SECRET_FILE) certFile?: string;
  @IsOptional() @Length(1, 256) @Matches(SECRET_FILE_NAME, SECRET_FILE) keyFile?: string;
}

function Satisfies(field: string, findFault: (value: unknown) => string | undefined): PropertyDecorator {
  const validate = (value: unknown): boolean => findFault(value) === undefined;
  return ValidateBy({ name: 'satisfies', validator: { validate, defaultMessage: (args) => `${field} ${findFault(args?.value)}` } });
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
  @Matches(KEY_VARIABLE, { message: 'apiKeyEnv must be a variable such as UPSTREAM_KEY_LOCAL, never the key itself' })
  apiKeyEnv?: string;
  /** A file in the folder of secrets of the inference-proxy, in place of a variable. */
  @IsOptional() @Length(1, 256) @Matches(SECRET_FILE_NAME, SECRET_FILE) apiKeyFile?: string;
  /** Another proof than a key, with places of secrets in the environment of the inference-proxy. */
  @IsOptional() @Satisfies('auth', authFault) auth?: UpstreamAuth;
  /** `off`, or a forward proxy that the inference-proxy declares. Default: that of its environment, if there is one. */
  @IsOptional()
  @ValidateBy({ name: 'isUpstreamProxy', validator: { validate: isUpstreamProxy, defaultMessage: () => `proxy ${UPSTREAM_PROXY_RULE}` } })
  proxy?: string;
  /** Path of calls below `baseUrl`, with `{model}` for the model. Default: that of the dialect. */
  @IsOptional() @Satisfies('path', pathFault) path?: string;
  /** Query parameters of calls. */
  @IsOptional() @Satisfies('query', queryFault) query?: Record<string, string>;
  /** Headers besides those of the dialect: a text, or the place of a secret. */
  @IsOptional() @Satisfies('headers', headersFault) headers?: Record<string, string | SecretSource>;
  /** Fields of the bodies of calls, beside or instead of those of the dialect; null takes one out. */
  @IsOptional() @Satisfies('body', bodyFault) body?: NonNullable<Upstream['body']>;
  /** Default false. */
  @IsOptional() @IsBoolean() allowPrivateNetwork?: boolean;
  /** Only with `https://`. Default: the public authorities, no client certificate. */
  @IsOptional() @Nested(() => CandidateTls) tls?: CandidateTls;
}

export class UpstreamProbeRequest {
  /** Id in the catalog. */
  @Matches(UPSTREAM_ID, UPSTREAM_ID_RULE) upstreamId!: string;
  /** Model name at the upstream. Default: the models of its routes, the first in full. */
  @IsOptional() @IsString() @Length(1, 256) model?: string;
  /** Context size to test. Default: the size that the upstream lists, if a test of it is cheap. */
  @IsOptional() @IsInt() @Min(1) @Max(2_000_000) contextTokens?: number;
}

export class CandidateProbeRequest {
  /** Id for the candidate. */
  @Matches(UPSTREAM_ID, UPSTREAM_ID_RULE) upstreamId!: string;
  @Nested(() => UpstreamCandidate) candidate!: UpstreamCandidate;
  /** Model name at the upstream. */
  @IsString() @Length(1, 256) model!: string;
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
  /** Models that made a vector, with its length: the tested one, and those for embeddings that the catalog routes to the upstream. */
  embeddings: { model: string; dimensions: number }[];
  modelFacts: { input: ('text' | 'image')[]; reasoning: boolean; contextTokens: number | null };
}

/** One start, then checks, then one end. */
export type UpstreamProbeEvent = UpstreamProbeStart | { type: 'check-end'; check: UpstreamCheck } | UpstreamProbeEnd;

/**
 * Sends small requests to an upstream of the catalog and reports its capabilities, check by check. Bounded in time and tokens, billed to no
 * account. The journal of the catalog gets a row with the caller first. Errors: `not_found` for an unknown upstream, `invalid_request`
 * without a model, `unavailable` when too many tests run or the row cannot be written.
 */
export const upstreamProbe = new StreamEndpoint<UpstreamProbeRequest, UpstreamProbeEvent>(
  'inference.v1.upstream.test',
  UpstreamProbeRequest,
  { about: 'Reports the capabilities of an upstream', isRecorded: true },
);

/**
 * As `upstreamProbe`, for an upstream that is not in the catalog. A subject of its own, because only the CLI may have the inference-proxy call
 * any address.
 */
export const candidateProbe = new StreamEndpoint<CandidateProbeRequest, UpstreamProbeEvent>(
  'inference.v1.candidate.test',
  CandidateProbeRequest,
  { about: 'Reports the capabilities of an upstream that is not in the catalog', isRecorded: true },
);

export class UpstreamTestRecordRequest {
  @Matches(UPSTREAM_ID, UPSTREAM_ID_RULE) upstreamId!: string;
  /** Model names that are tested. */
  @IsString({ each: true }) @ArrayMaxSize(10) models!: string[];
  /** Host that the test calls. Absent: the upstream is in the catalog, whose addresses are in no journal. */
  @IsOptional() @IsString() @Length(1, 2_000) host?: string;
  /** NATS user that asked for the test; null when unknown. */
  @IsOptional() @IsString() @Length(1, 256) via?: string | null;
}

export interface UpstreamTestRecordReply {
  /** Target of the audit row: `upstream/<id>`. */
  target: string;
}

/**
 * Writes the audit row of a test, before the inference-proxy sends the first request. Only the inference-proxy may call it, and it names the
 * caller of the test, whom it knows by the subject of that.
 */
export const upstreamTestRecord = new Endpoint<UpstreamTestRecordRequest, UpstreamTestRecordReply>(
  'catalog.v1.upstream-test.record',
  UpstreamTestRecordRequest,
  { about: 'Records a test of an upstream in the audit journal' },
);
