import type { Upstream } from './catalog.js';

/** Facts about a dialect that several services need. */
interface Dialect {
  /** Value of `gen_ai.provider.name` in OpenTelemetry's conventions. */
  provider: string;
  /** Bills output that its replies do not show (`hiddenReasoning`). */
  hidesOutput: boolean;
  /** Refuses a request without an output cap. */
  requiresOutputCap: boolean;
  /** Counts tokens of the cache apart from those of the prompt (`cachedApart`). */
  countsCacheApart: boolean;
  /** Caches only what `promptCache` marks. */
  cachesMarked: boolean;
  /** Ways to keep the caches of accounts apart, besides `none`. */
  cacheKeys: readonly ('prompt_cache_key' | 'cache_salt' | 'text')[];
}

/** The facts about each dialect. */
export const DIALECTS: Readonly<Record<Upstream['kind'], Dialect>> = {
  'openai-chat': {
    provider: 'openai',
    hidesOutput: false,
    requiresOutputCap: false,
    countsCacheApart: false,
    cachesMarked: false,
    cacheKeys: ['prompt_cache_key', 'cache_salt'],
  },
  'openai-responses': {
    provider: 'openai',
    hidesOutput: true,
    requiresOutputCap: false,
    countsCacheApart: false,
    cachesMarked: false,
    cacheKeys: ['prompt_cache_key', 'cache_salt'],
  },
  'anthropic-messages': {
    provider: 'anthropic',
    hidesOutput: true,
    requiresOutputCap: true,
    countsCacheApart: true,
    cachesMarked: true,
    cacheKeys: ['text'],
  },
  gemini: {
    provider: 'gcp.gemini',
    hidesOutput: true,
    requiresOutputCap: false,
    countsCacheApart: false,
    cachesMarked: false,
    cacheKeys: ['text'],
  },
  'bedrock-converse': {
    provider: 'aws.bedrock',
    hidesOutput: true,
    requiresOutputCap: false,
    countsCacheApart: true,
    cachesMarked: true,
    cacheKeys: ['text'],
  },
};

/** Dialects whose upstreams can serve embeddings. */
export const EMBEDDING_KINDS: readonly Upstream['kind'][] = ['openai-chat'];
