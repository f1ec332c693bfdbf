import type { UpstreamCapabilities } from '#contracts/catalog.js';
import { promptUsage, type Usage } from '#inference/usage.js';
import type { UpstreamCall } from '../upstream-adapter.js';
import { isObject } from './json-object.js';

/** Largest count the contracts carry; no reply comes near it. */
export const TOKENS_MAX = 2 ** 31 - 1;

/** Returns the count an upstream gave, as a number or in digits; 0 for anything that is not positive. */
export function parseTokenCount(value: unknown): number {
  const count = typeof value === 'string' && /^\d{1,10}$/.test(value) ? Number(value) : value;
  return typeof count === 'number' && count > 0 ? Math.min(TOKENS_MAX, Math.trunc(count)) : 0;
}

/** Parts of a call that decide how its usage is read. */
export type UsageReading = Pick<UpstreamCall, 'onOddity' | 'outputTokensMax'> & { capabilities: Pick<UpstreamCapabilities, 'cachedApart'> };

type Counts = Omit<Required<Usage>, 'promptSource' | 'outputSource' | 'tier'> & Pick<Usage, 'tier'>;
type CacheWrites = Pick<Counts, 'cacheWriteTokens' | 'cacheWrite1hTokens'>;
type CacheCounts = CacheWrites & Pick<Counts, 'cachedTokens'>;

/**
 * Returns the tokens that an upstream wrote to its cache, from their total and from the counts by lifetime of Anthropic's `cache_creation`.
 * The total counts where both are there: what no lifetime explains is kept for 5 minutes, the cheaper one.
 */
export function parseCacheWrites(total: unknown, byLifetime: unknown): CacheWrites {
  const { ephemeral_5m_input_tokens: of5m, ephemeral_1h_input_tokens: of1h } = isObject(byLifetime) ? byLifetime : {};
  const written = parseTokenCount(total) || Math.min(TOKENS_MAX, parseTokenCount(of5m) + parseTokenCount(of1h));
  const cacheWrite1hTokens = Math.min(parseTokenCount(of1h), written);
  return { cacheWriteTokens: written - cacheWrite1hTokens, cacheWrite1hTokens };
}

/** Returns the first field that is there: servers mix the names of the dialects. */
export function readField(usage: Record<string, unknown>, ...names: readonly string[]): unknown {
  for (const name of names) if (usage[name] !== undefined && usage[name] !== null) return usage[name];
  return undefined;
}

/**
 * Returns true when the prompt of a usage leaves out the tokens of the cache: as the catalog says, otherwise where the usage has Anthropic's
 * names for them and no field of OpenAI's for the prompt.
 */
function countsCacheApart(usage: Record<string, unknown>, { capabilities }: UsageReading): boolean {
  const isOpenAis = readField(usage, 'prompt_tokens', 'prompt_tokens_details', 'input_tokens_details') !== undefined;
  const isAnthropics = readField(usage, 'cache_read_input_tokens', 'cache_creation_input_tokens', 'cache_creation') !== undefined;
  return capabilities.cachedApart ?? (isAnthropics && !isOpenAis);
}

/** Counts from which the prompt follows. `cacheApart`: `prompt` leaves out the tokens of the cache. */
interface PromptReading {
  prompt: unknown;
  cacheApart: boolean;
  outputTokens: number;
  reasoningTokens: number;
  total: unknown;
}

/**
 * Returns the tokens of the prompt, those of the cache included. Where a server leaves the prompt out beside a total, the prompt is what the
 * total has besides the output, and besides the reasoning where the output cannot contain it.
 */
function readPrompt(
  { prompt, cacheApart, outputTokens, reasoningTokens, total }: PromptReading,
  { cachedTokens, cacheWriteTokens, cacheWrite1hTokens }: CacheCounts,
): number {
  const reported = parseTokenCount(prompt);
  const apart = cacheApart ? cachedTokens + cacheWriteTokens + cacheWrite1hTokens : 0;
  const beside = parseTokenCount(total) - outputTokens;
  const isReasoningApart = reasoningTokens > outputTokens || beside === reasoningTokens;
  const rest = reported === 0 && outputTokens > 0 ? beside - (isReasoningApart ? reasoningTokens : 0) : 0;
  return Math.min(TOKENS_MAX, Math.max(reported + apart, rest));
}

/** Returns the output with the reasoning that a server counts apart from it: its total then is the sum of all three. */
function withReasoning(outputTokens: number, reasoningTokens: number, promptTokens: number, total: unknown): number {
  const isApart = reasoningTokens > 0 && parseTokenCount(total) === promptTokens + outputTokens + reasoningTokens;
  return Math.min(TOKENS_MAX, outputTokens + (isApart ? reasoningTokens : 0));
}

/**
 * Returns the output that a total contains. Some servers leave thinking out of the output, so that it stands in the total alone. Tokens of
 * the cache that the prompt leaves out are no output, and neither is more than the cap of the call: such a total counts something else.
 */
function outputWithin(
  total: unknown,
  { promptTokens, cachedTokens, cacheWriteTokens, cacheWrite1hTokens, outputTokens }: Omit<Counts, 'reasoningTokens'>,
  { onOddity, outputTokensMax }: UsageReading,
): number {
  const missing = parseTokenCount(total) - promptTokens - outputTokens;
  if (promptTokens === 0 || missing <= 0) return outputTokens;
  const writtenTokens = cacheWriteTokens + cacheWrite1hTokens;
  if ([cachedTokens, writtenTokens, cachedTokens + writtenTokens].includes(missing)) return outputTokens;
  onOddity?.({ kind: 'contradictory-usage', detail: `${promptTokens} + ${outputTokens} tokens, ${parseTokenCount(total)} in total` });
  return outputTokens + missing > outputTokensMax ? outputTokens : outputTokens + missing;
}

/** Fields of a usage that OpenAI's dialects read, each under its names. */
interface UsageFields {
  prompt: unknown;
  outputTokens: number;
  reasoningTokens: number;
  cache: CacheCounts;
  tier?: string | undefined;
}

/** Returns the usage with these fields, reconciled with its total; undefined when it counts nothing. */
export function reconciledUsage(
  usage: Record<string, unknown>,
  { prompt, outputTokens, reasoningTokens, cache, tier }: UsageFields,
  call: UsageReading,
): Usage | undefined {
  const total = usage.total_tokens;
  const promptTokens = readPrompt({ prompt, cacheApart: countsCacheApart(usage, call), outputTokens, reasoningTokens, total }, cache);
  const counted = { ...cache, promptTokens, outputTokens: withReasoning(outputTokens, reasoningTokens, promptTokens, total) };
  const allOutput = Math.min(TOKENS_MAX, outputWithin(total, counted, call));
  const counts = { ...counted, outputTokens: allOutput, reasoningTokens: Math.max(reasoningTokens, allOutput - outputTokens) };
  return reportedUsage({ ...counts, ...(tier !== undefined && { tier }) });
}

/** Returns the usage of these counts; undefined when nothing was counted. Details are brought within the totals that contain them. */
export function reportedUsage(counts: Counts): Usage | undefined {
  const { promptTokens, outputTokens, reasoningTokens } = counts;
  if (promptTokens === 0 && outputTokens === 0) return undefined;
  return {
    ...promptUsage(counts),
    outputTokens,
    reasoningTokens: Math.min(reasoningTokens, outputTokens),
    promptSource: 'reported',
    outputSource: 'reported',
  };
}
