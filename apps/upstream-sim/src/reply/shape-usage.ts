import type { Directives } from '../directives.js';
import type { ReplyUsage } from './plan-reply.js';

/** Returns the counts of OpenAI's dialects in the shape of another server. The total always has them all. */
export function shapeUsage(usage: ReplyUsage, { usage: shape = [] }: Directives): ReplyUsage {
  const cached = usage.prompt_tokens_details?.cached_tokens ?? 0;
  const reasoning = usage.completion_tokens_details?.reasoning_tokens ?? 0;
  const isOutside = shape.includes('total') || shape.includes('zero');
  const shaped: ReplyUsage = {
    ...usage,
    prompt_tokens: shape.includes('apart') ? usage.prompt_tokens - cached : usage.prompt_tokens,
    completion_tokens: isOutside ? usage.completion_tokens - reasoning : usage.completion_tokens,
  };
  if (shape.includes('zero')) shaped.completion_tokens_details = { reasoning_tokens: 0 };
  else if (isOutside) delete shaped.completion_tokens_details;
  return shaped;
}
