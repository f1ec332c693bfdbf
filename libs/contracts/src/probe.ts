import { IsBoolean, IsIn, IsInt, IsOptional, IsString, Length, Matches, Max, Min, ValidateBy } from 'class-validator';
import { Nested } from './billing/fields.js';
import { UPSTREAM_KINDS, type Upstream, type UpstreamCapabilities } from './catalog.js';
import { StreamEndpoint } from './endpoint.js';

const FILE_NAME = /^\w[\w.-]*(\/\w[\w.-]*){0,3}$/;

/** Files in the folder of secrets of the inference-proxy. The certificate and its key go together. */
export class CandidateTls {
  @IsOptional()
  @Length(1, 256)
  @Matches(FILE_NAME, { message: "caFile must be the name of a file in the inference-proxy's UPSTREAM_SECRETS_DIR" })
  caFile?: string;
  @IsOptional()
  @Length(1, 256)
  @Matches(FILE_NAME, { message: "certFile must be the name of a file in the inference-proxy's UPSTREAM_SECRETS_DIR" })
  certFile?: string;
  @IsOptional()
  @Length(1, 256)
  @Matches(FILE_NAME, { message: "keyFile must be the name of a file in the inference-proxy's UPSTREAM_SECRETS_DIR" })
  keyFile?: string;
}

/** An upstream that the catalog does not have yet; the rules are the catalog's. */
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
  /** Read in the environment of the inference-proxy: a key itself is never said here. */
  @IsOptional()
  @Matches(/^[A-Z_][A-Z0-9_]{0,127}$/, { message: 'apiKeyEnv must be the name of an environment variable, never the key itself' })
  apiKeyEnv?: string;
  /** A file in the folder of secrets of the inference-proxy, in place of a variable. */
  @IsOptional()
  @Length(1, 256)
  @Matches(FILE_NAME, {
    message: "apiKeyFile must be the name of a file in the inference-proxy's UPSTREAM_SECRETS_DIR, never the key itself",
  })
  apiKeyFile?: string;
  /** Default false. */
  @IsOptional() @IsBoolean() allowPrivateNetwork?: boolean;
  /** Only with `https://`. Default: the public authorities, and no certificate of ours. */
  @IsOptional() @Nested(() => CandidateTls) tls?: CandidateTls;
}

export class UpstreamTestRequest {
  /** As the catalog calls it or, with `candidate`, will call it. */
  @Matches(/^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,63}$/, { message: 'upstreamId must be an id' }) upstreamId!: string;
  @IsOptional() @Nested(() => UpstreamCandidate) candidate?: UpstreamCandidate;
  /** The model's name there. Absent: those of the catalog's routes to it, the first of them in full. */
  @IsOptional() @IsString() @Length(1, 256) model?: string;
  /** The model's context. Absent: what the upstream's list of models says, when that is small enough to be tried at little cost. */
  @IsOptional() @IsInt() @Min(1) @Max(2_000_000) contextTokens?: number;
}

/** `unclear`: asked, and the answer says neither. `skipped`: not asked. */
export type Verdict = 'yes' | 'no' | 'unclear' | 'skipped';

export interface UpstreamCheck {
  id: string;
  /** What was asked, for people. */
  title: string;
  verdict: Verdict;
  /** In a few words of ours; words of the upstream's are shortened and redacted. */
  evidence: string;
  milliseconds: number;
}

export interface UpstreamTestStart {
  type: 'test-start';
  upstreamId: string;
  kind: Upstream['kind'];
  model: string;
  isInCatalog: boolean;
}

/** A field of the catalog's `capabilities` that the upstream answers for itself. */
export interface CapabilityChange {
  name: keyof UpstreamCapabilities;
  /** As the catalog has it; without an entry, the default. */
  catalog: boolean | string | number | null;
  found: boolean | string | number | null;
}

export interface UpstreamTestEnd {
  type: 'test-end';
  /** Whether it can serve a plain text request at all. */
  servesText: boolean;
  /** From request to first content of a stream; null when there was none. */
  firstContentMs: number | null;
  /** Null when it came too fast, or all at once. */
  tokensPerSecond: number | null;
  /** What the test has cost at the upstream, as it counts, or by estimate. */
  requests: number;
  promptTokens: number;
  outputTokens: number;
  /** As they fit the upstream; what was not found out is as it was. */
  capabilities: UpstreamCapabilities;
  changes: CapabilityChange[];
  /** For the model's own entry. `contextTokens`: as the upstream lists it. */
  modelFacts: { input: ('text' | 'image')[]; reasoning: boolean; contextTokens: number | null };
}

/** Of the grammar: start, checks, end. */
export type UpstreamTestEvent = UpstreamTestStart | { type: 'check-end'; check: UpstreamCheck } | UpstreamTestEnd;

/**
 * Sends an upstream small requests and says what it can do, check by check. Bounded in time and tokens, and billed to no
 * account. Refused: `not_found` for an upstream the catalog does not have, `invalid_request` when no model is named and
 * none is routed to it, `unavailable` when there are too many tests under way.
 */
export const upstreamTest = new StreamEndpoint<UpstreamTestRequest, UpstreamTestEvent>(
  'inference.v1.upstream.test',
  UpstreamTestRequest,
  'Finds out what an upstream can do',
);

function isBaseUrl(value: unknown): boolean {
  if (typeof value !== 'string' || value.length > 2_000 || /[\s?#]/.test(value) || !URL.canParse(value)) return false;
  const url = new URL(value);
  return (url.protocol === 'http:' || url.protocol === 'https:') && url.username === '' && url.password === '';
}
