import { servedTier, type Usage } from '#inference/usage.js';
import { isObject, toObject } from '../replies/json-object.js';
import { parseCacheWrites, parseTokenCount, readField, reportedUsage, TOKENS_MAX } from '../replies/reported-usage.js';

/** The counts of a prompt. */
interface Prompt {
  input: number;
  /** `input` leaves out the tokens read from the cache and those written to it. */
  isApart: boolean;
  cached: number;
  written: number;
  written1h: number;
}

/** Collects the usage of one message. Counts are cumulative: a later one replaces an earlier one, and one that falls is ignored. */
export class UsageCounter {
  private prompt: Prompt;
  private output = 0;
  private thinking = 0;
  private tier: string | undefined;

  /** True when the upstream has said for how long it keeps what it wrote. */
  private hasLifetimes = false;

  /**
   * `cachedApart`: says whether the prompt leaves out the tokens of the cache; otherwise the names of the counts say it. `forAnHour`: the
   * upstream was asked to keep the prompt for an hour.
   */
  constructor(
    private readonly cachedApart?: boolean | null,
    private readonly forAnHour = false,
  ) {
    this.prompt = { input: 0, isApart: cachedApart ?? true, cached: 0, written: 0, written1h: 0 };
  }

  /** Reads the usage in `message_start`. Its output count is a placeholder, not that of the reply. */
  readStart(usage: unknown): void {
    this.read(usage);
    this.output = 0;
  }

  read(usage: unknown): void {
    if (!isObject(usage)) return;
    this.readPrompt(usage);
    if (typeof usage.service_tier === 'string') this.tier = servedTier(usage.service_tier);
    const details = toObject(readField(usage, 'output_tokens_details', 'completion_tokens_details'));
    this.output = Math.max(this.output, parseTokenCount(readField(usage, 'output_tokens', 'completion_tokens')));
    this.thinking = Math.max(this.thinking, parseTokenCount(readField(details, 'thinking_tokens', 'reasoning_tokens')));
  }

  /** Undefined when nothing was counted. */
  get usage(): Usage | undefined {
    const { prompt, output, thinking, tier } = this;
    return reportedUsage({
      promptTokens: this.sumTotal(prompt),
      cachedTokens: prompt.cached,
      cacheWriteTokens: prompt.written,
      cacheWrite1hTokens: prompt.written1h,
      outputTokens: output,
      reasoningTokens: thinking,
      ...(tier !== undefined && { tier }),
    });
  }

  /** The counts are taken together, because a later event may split the same prompt anew: 80, then 50 and 30 cached. */
  private readPrompt(usage: Record<string, unknown>): void {
    const { written, written1h } = this.prompt;
    const writtenTotal = readCount(usage.cache_creation_input_tokens, written + written1h);
    const later = parseCacheWrites(0, usage.cache_creation);
    // A later event may have the total without its lifetimes, or with zeros for them.
    const saysLifetimes = later.cacheWriteTokens + later.cacheWrite1hTokens > 0;
    this.hasLifetimes ||= saysLifetimes;
    const known = this.forAnHour && !this.hasLifetimes ? writtenTotal : Math.min(written1h, writtenTotal);
    const writes = parseCacheWrites(writtenTotal, saysLifetimes ? usage.cache_creation : { ephemeral_1h_input_tokens: known });
    const details = toObject(readField(usage, 'prompt_tokens_details', 'input_tokens_details'));
    const prompt = {
      input: readCount(readField(usage, 'input_tokens', 'prompt_tokens'), this.prompt.input),
      isApart: this.cachedApart ?? isApart(usage, details) ?? this.prompt.isApart,
      cached: readCount(usage.cache_read_input_tokens ?? details.cached_tokens, this.prompt.cached),
      written: writes.cacheWriteTokens,
      written1h: writes.cacheWrite1hTokens,
    };
    const growth = this.sumTotal(prompt) - this.sumTotal(this.prompt);
    if (growth > 0 || (growth === 0 && prompt.cached >= this.prompt.cached)) this.prompt = prompt;
  }

  private sumTotal({ input, isApart, cached, written, written1h }: Prompt): number {
    return Math.min(TOKENS_MAX, isApart ? input + cached + written + written1h : input);
  }
}

/** True when the prompt of a usage leaves out the tokens of the cache: under OpenAI's names it contains them. Undefined without a prompt. */
function isApart(usage: Record<string, unknown>, details: Record<string, unknown>): boolean | undefined {
  if (readField(usage, 'input_tokens', 'prompt_tokens') === undefined) return undefined;
  const isCacheOpenAis = readField(usage, 'cache_read_input_tokens') === undefined && readField(details, 'cached_tokens') !== undefined;
  return readField(usage, 'input_tokens') !== undefined && !isCacheOpenAis;
}

/** A number or digits; anything else leaves what is known. */
function readCount(value: unknown, known: number): number {
  const isCount = typeof value === 'number' || (typeof value === 'string' && /^\d+$/.test(value));
  return isCount ? parseTokenCount(value) : known;
}
