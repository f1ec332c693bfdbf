import 'reflect-metadata';
import { Type } from 'class-transformer';
import { ValidateNested } from 'class-validator';
import { PRICE_PLAN_LENGTH_MAX } from '#contracts/billing/fields.js';
import {
  UPSTREAM_KINDS,
  type Upstream,
  type UpstreamCapabilities,
  type UpstreamHealthCheck,
  type UpstreamTimeouts,
  type UpstreamTls,
} from '#contracts/catalog.js';
import { EMBEDDING_DIMENSIONS_MAX, OWN_USERS, SERVICE_NAME } from '#contracts/rules/bounds.js';
import { PRICE_STEPS_MAX, PRICE_TIERS_MAX } from '#contracts/rules/price-rules.js';
import { authFault } from '#contracts/upstream-auth.js';
import { CAPABILITY_DEFAULTS, TIMEOUT_DEFAULTS } from '#contracts/upstream-defaults.js';
import { bodyFault, headersFault, pathFault, queryFault } from '#contracts/upstream-request.js';
import { TIER, USUAL_TIERS } from '#inference/usage.js';
import {
  BaseUrl,
  Fields,
  Identifier,
  KeyVariable,
  List,
  OneOf,
  Optional,
  Percent,
  Satisfies,
  SecretFileName,
  SetOf,
  Text,
  TrueOrFalse,
  UpstreamProxy,
  UrlPath,
  UsdEach,
  UsdPerMillionTokens,
  WholeNumber,
} from './rules.js';

/*
 * The catalog file, field by field. A field is required unless it has an initial value (its default) or is `@Optional`;
 * a field that is not here is a fault, because a misspelt price must not be silent.
 */

const TOKENS_MAX = 2 ** 31 - 1;
const DAY_MS = 86_400_000;

export class CapabilitiesEntry implements Omit<Required<UpstreamCapabilities>, 'hiddenReasoning' | 'cachedApart' | 'cacheKey'> {
  @TrueOrFalse() streamOptions = CAPABILITY_DEFAULTS.streamOptions;
  @TrueOrFalse() jsonSchema = CAPABILITY_DEFAULTS.jsonSchema;
  @TrueOrFalse() parallelToolCalls = CAPABILITY_DEFAULTS.parallelToolCalls;
  @TrueOrFalse() strictTools = CAPABILITY_DEFAULTS.strictTools;
  @TrueOrFalse() developerRole = CAPABILITY_DEFAULTS.developerRole;
  @OneOf(['anywhere', 'first', 'none']) systemMessages: UpstreamCapabilities['systemMessages'] = CAPABILITY_DEFAULTS.systemMessages;
  @TrueOrFalse() alternatingRoles = CAPABILITY_DEFAULTS.alternatingRoles;
  @TrueOrFalse() nineCharacterCallIds = CAPABILITY_DEFAULTS.nineCharacterCallIds;
  @OneOf(['forced', 'none', 'auto']) toolChoice: NonNullable<UpstreamCapabilities['toolChoice']> = CAPABILITY_DEFAULTS.toolChoice;
  @TrueOrFalse() temperature = CAPABILITY_DEFAULTS.temperature;
  @TrueOrFalse() topP = CAPABILITY_DEFAULTS.topP;
  @TrueOrFalse() outputCap = CAPABILITY_DEFAULTS.outputCap;
  @TrueOrFalse() instructions = CAPABILITY_DEFAULTS.instructions;
  /** Default: by the kind of the upstream. */
  @Optional() @TrueOrFalse() cachedApart?: boolean;
  @OneOf(['off', '5m', '1h']) promptCache: NonNullable<UpstreamCapabilities['promptCache']> = CAPABILITY_DEFAULTS.promptCache;
  /** Default: by the kind of the upstream. */
  @Optional() @OneOf(['none', 'prompt_cache_key', 'cache_salt', 'text']) cacheKey?: NonNullable<UpstreamCapabilities['cacheKey']>;
  @TrueOrFalse() seed = CAPABILITY_DEFAULTS.seed;
  @TrueOrFalse() penalties = CAPABILITY_DEFAULTS.penalties;
  @TrueOrFalse() reasoningEffort = CAPABILITY_DEFAULTS.reasoningEffort;
  @OneOf(['none', 'reasoning_effort', 'chat_template_kwargs', 'thinking'])
  reasoningSwitch: NonNullable<UpstreamCapabilities['reasoningSwitch']> = CAPABILITY_DEFAULTS.reasoningSwitch;
  @OneOf(['max_tokens', 'max_completion_tokens']) maxTokensField: UpstreamCapabilities['maxTokensField'] =
    CAPABILITY_DEFAULTS.maxTokensField;
  @TrueOrFalse() stop = CAPABILITY_DEFAULTS.stop;
  @TrueOrFalse() reasoningEcho = CAPABILITY_DEFAULTS.reasoningEcho;
  @TrueOrFalse() thinkTags = CAPABILITY_DEFAULTS.thinkTags;
  @TrueOrFalse() beginsInReasoning = CAPABILITY_DEFAULTS.beginsInReasoning;
  @TrueOrFalse() reasoningSummary = CAPABILITY_DEFAULTS.reasoningSummary;
  @TrueOrFalse() streamPlainRequests = CAPABILITY_DEFAULTS.streamPlainRequests;
  /** Default: by the kind of the upstream. */
  @Optional() @TrueOrFalse() hiddenReasoning?: boolean;
  @WholeNumber(0, TOKENS_MAX) hiddenTokensFloor = CAPABILITY_DEFAULTS.hiddenTokensFloor;
  @WholeNumber(1, TOKENS_MAX) embeddingInputsMax = CAPABILITY_DEFAULTS.embeddingInputsMax;
  @WholeNumber(1, TOKENS_MAX) embeddingTokensMax = CAPABILITY_DEFAULTS.embeddingTokensMax;
}

/** Capabilities of one model of an upstream: those that it names, without defaults. */
class RouteCapabilitiesEntry extends CapabilitiesEntry {
  constructor() {
    super();
    for (const name of CAPABILITY_NAMES) delete (this as Partial<CapabilitiesEntry>)[name];
  }
}
const CAPABILITY_NAMES = Object.keys(CAPABILITY_DEFAULTS) as (keyof UpstreamCapabilities)[];
for (const name of CAPABILITY_NAMES) Optional()(RouteCapabilitiesEntry.prototype, name);

export class TimeoutsEntry implements Required<UpstreamTimeouts> {
  @WholeNumber(1, DAY_MS) connectMs = TIMEOUT_DEFAULTS.connectMs;
  @WholeNumber(1, DAY_MS) firstByteMs = TIMEOUT_DEFAULTS.firstByteMs;
  @WholeNumber(1, DAY_MS) idleMs = TIMEOUT_DEFAULTS.idleMs;
  @WholeNumber(1, DAY_MS) totalMs = TIMEOUT_DEFAULTS.totalMs;
  @WholeNumber(1, DAY_MS) readOnMs = TIMEOUT_DEFAULTS.readOnMs;
  @WholeNumber(1, DAY_MS) finishMs = TIMEOUT_DEFAULTS.finishMs;
}

class HealthCheckEntry implements UpstreamHealthCheck {
  @UrlPath() path!: string;
  @WholeNumber(100, DAY_MS) intervalMs = 5_000;
}

class TlsEntry implements UpstreamTls {
  @Optional() @SecretFileName() caFile?: string;
  @Optional() @SecretFileName() certFile?: string;
  @Optional() @SecretFileName() keyFile?: string;
}

export class UpstreamEntry {
  @Identifier(64) id!: string;
  @OneOf(UPSTREAM_KINDS) kind!: Upstream['kind'];
  @TrueOrFalse() enabled = true;
  @BaseUrl() baseUrl!: string;
  @Optional() @KeyVariable() apiKeyEnv?: string;
  @Optional() @SecretFileName() apiKeyFile?: string;
  @Optional() @Satisfies(authFault) auth?: NonNullable<Upstream['auth']>;
  @Optional() @Fields() @ValidateNested() @Type(() => TlsEntry) tls?: TlsEntry;
  @Optional() @UpstreamProxy() proxy?: string;
  @Optional() @Satisfies(pathFault) path?: string;
  @Optional() @Satisfies(queryFault) query?: NonNullable<Upstream['query']>;
  @Optional() @Satisfies(headersFault) headers?: NonNullable<Upstream['headers']>;
  @Optional() @Satisfies(bodyFault) body?: NonNullable<Upstream['body']>;
  @TrueOrFalse() allowPrivateNetwork = false;
  @Fields() @ValidateNested() @Type(() => CapabilitiesEntry) capabilities = new CapabilitiesEntry();
  @Fields() @ValidateNested() @Type(() => TimeoutsEntry) timeouts = new TimeoutsEntry();
  @WholeNumber(1, 65_535) connectionsMax = 256;
  @Optional() @Fields() @ValidateNested() @Type(() => HealthCheckEntry) healthCheck?: HealthCheckEntry;
}

class PriceStepEntry {
  @WholeNumber(1, TOKENS_MAX) above!: number;
  @OneOf(['whole', 'excess']) reprices: 'whole' | 'excess' = 'whole';
  @UsdPerMillionTokens() inputUsdPerMTok!: string;
  @UsdPerMillionTokens() cachedInputUsdPerMTok!: string;
  @Optional() @UsdPerMillionTokens() cacheWriteUsdPerMTok?: string;
  @Optional() @UsdPerMillionTokens() cacheWrite1hUsdPerMTok?: string;
  /** Default: as without the step. */
  @Optional() @UsdPerMillionTokens() outputUsdPerMTok?: string;
}

class PriceTierEntry {
  @Satisfies(tierFault) tier!: string;
  @UsdPerMillionTokens() inputUsdPerMTok!: string;
  @UsdPerMillionTokens() cachedInputUsdPerMTok!: string;
  @Optional() @UsdPerMillionTokens() cacheWriteUsdPerMTok?: string;
  @Optional() @UsdPerMillionTokens() cacheWrite1hUsdPerMTok?: string;
  @UsdPerMillionTokens() outputUsdPerMTok!: string;
  @Optional() @List(1, PRICE_STEPS_MAX) @ValidateNested({ each: true }) @Type(() => PriceStepEntry) steps?: PriceStepEntry[];
}

class ImageStepEntry {
  @WholeNumber(1, TOKENS_MAX) aboveBytes!: number;
  @UsdEach() imageUsd!: string;
}

/** Names the rule of a tier: the usual prices have no name. */
function tierFault(tier: unknown): string | undefined {
  if (typeof tier !== 'string' || !TIER.test(tier)) return 'must be the name of a tier as the upstream reports it, such as flex';
  return USUAL_TIERS.includes(tier) ? 'is the usual tier: its prices stand outside of tiers' : undefined;
}

export class PriceEntry {
  @UsdPerMillionTokens() inputUsdPerMTok!: string;
  @UsdPerMillionTokens() cachedInputUsdPerMTok!: string;
  /** Price of tokens that the upstream writes to its cache for 5 minutes. Default: `inputUsdPerMTok`. */
  @Optional() @UsdPerMillionTokens() cacheWriteUsdPerMTok?: string;
  /** Price of those that it writes for an hour. Default: `cacheWriteUsdPerMTok`. */
  @Optional() @UsdPerMillionTokens() cacheWrite1hUsdPerMTok?: string;
  @UsdPerMillionTokens() outputUsdPerMTok!: string;
  /** Default: a request costs its tokens. */
  @Optional() @UsdEach() requestUsd?: string;
  /** Default: an image costs its tokens. */
  @Optional() @UsdEach() imageUsd?: string;
  @Optional() @List(1, PRICE_STEPS_MAX) @ValidateNested({ each: true }) @Type(() => PriceStepEntry) steps?: PriceStepEntry[];
  @Optional() @List(1, PRICE_TIERS_MAX) @ValidateNested({ each: true }) @Type(() => PriceTierEntry) tiers?: PriceTierEntry[];
  /** Default: all images cost `imageUsd`. */
  @Optional() @List(1, PRICE_STEPS_MAX) @ValidateNested({ each: true }) @Type(() => ImageStepEntry) imageSteps?: ImageStepEntry[];
}

class RouteEntry {
  @Identifier(64) upstream!: string;
  @Text(256) model!: string;
  @WholeNumber(1, 1_000_000) weight = 1;
  @WholeNumber(0, 1_000) priority = 0;
  @Optional() @WholeNumber(1, 65_535) concurrencyMax?: number;
  /** Default: those of the upstream. */
  @Optional() @Fields() @ValidateNested() @Type(() => RouteCapabilitiesEntry) capabilities?: RouteCapabilitiesEntry;
  /** Price that the operator pays the upstream. Default: not known. */
  @Optional() @Fields() @ValidateNested() @Type(() => PriceEntry) cost?: PriceEntry;
}

export class ModelEntry {
  @Identifier(256) id!: string;
  @Text(200) ownedBy!: string;
  /** Default: the id. */
  @Optional() @Text(200) displayName?: string;
  /** Unix seconds. Default: the time of the first apply. */
  @Optional() @WholeNumber(0, 253_402_300_799) created?: number;
  @TrueOrFalse() enabled = true;
  @WholeNumber(1, TOKENS_MAX) contextTokens!: number;
  /** Required, except of a model for embeddings, which has none. */
  @Optional() @WholeNumber(1, TOKENS_MAX) maxOutputTokens?: number;
  /** Default: `maxOutputTokens`, at most 4,096. */
  @Optional() @WholeNumber(1, TOKENS_MAX) defaultOutputTokens?: number;
  @SetOf(['text', 'image'], 'text') input: ('text' | 'image')[] = ['text'];
  @TrueOrFalse() reasoning = false;
  @WholeNumber(1, TOKENS_MAX) tokensPerImageMax = 1_600;
  /** Default: the model writes replies. */
  @Optional() @WholeNumber(1, EMBEDDING_DIMENSIONS_MAX) embeddingDimensions?: number;
  @Fields() @ValidateNested() @Type(() => PriceEntry) price!: PriceEntry;
  @List(1, 100) @ValidateNested({ each: true }) @Type(() => RouteEntry) routes!: RouteEntry[];
}

class PlanModelEntry {
  @Identifier(256) id!: string;
  @Fields() @ValidateNested() @Type(() => PriceEntry) price!: PriceEntry;
}

export class PricePlanEntry {
  @Identifier(PRICE_PLAN_LENGTH_MAX) id!: string;
  @Percent() discountPercent: string | number = 0;
  @List(0, 1_000) @ValidateNested({ each: true }) @Type(() => PlanModelEntry) models: PlanModelEntry[] = [];
}

class ItemEntry {
  @Satisfies(tokenFault) id!: string;
  /** Default: the id. */
  @Optional() @Text(64) unit?: string;
  /** Default: the id. */
  @Optional() @Text(200) displayName?: string;
  @TrueOrFalse() enabled = true;
  /** Price of a unit. */
  @UsdEach() unitUsd!: string;
}

export class ServiceEntry {
  @Satisfies(serviceFault) id!: string;
  @TrueOrFalse() enabled = true;
  /** Default: a hold may be of any amount. */
  @Optional() @UsdEach() holdMaxUsd?: string;
  /** Default: the service may spend any amount in a day. */
  @Optional() @UsdEach() dayMaxUsd?: string;
  /** Default: it may have any number of open holds. */
  @Optional() @WholeNumber(1, TOKENS_MAX) openHoldsMax?: number;
  @List(1, 200) @ValidateNested({ each: true }) @Type(() => ItemEntry) items!: ItemEntry[];
}

/** A service is a user of NATS: its name is a token of subjects, and none of Tollgate's own. */
function serviceFault(id: unknown): string | undefined {
  if (OWN_USERS.includes(id as string)) return 'is the name of a part of Tollgate';
  return tokenFault(id);
}

function tokenFault(id: unknown): string | undefined {
  if (typeof id === 'string' && SERVICE_NAME.test(id)) return undefined;
  return 'must be 1 to 32 lower-case letters, digits and hyphens that begin with a letter';
}

export class CatalogFileEntry {
  @List(0, 200) @ValidateNested({ each: true }) @Type(() => UpstreamEntry) upstreams!: UpstreamEntry[];
  @List(0, 1_000) @ValidateNested({ each: true }) @Type(() => ModelEntry) models!: ModelEntry[];
  @List(0, 100) @ValidateNested({ each: true }) @Type(() => PricePlanEntry) pricePlans: PricePlanEntry[] = [];
  @List(0, 100) @ValidateNested({ each: true }) @Type(() => ServiceEntry) services: ServiceEntry[] = [];
}
