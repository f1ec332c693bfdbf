/*
 * What servers say when it is the prompt that they do not take: codes and sentences, as they were seen (U-23). Each line is a
 * family of wordings, not a server; `classify-refusal.test.ts` has the sentences, server by server.
 */

/** Prompt and output do not fit the model. Limits of rate have words like these too: they are told apart by their status. */
export const CONTEXT_OVERFLOW: readonly RegExp[] = [
  /context[ _](length|size|window)[ _](exceeded|error)|exceed(ed|s)?_context/i,
  /max(imum)? (context|model|input|prompt|sequence|allowed) length/i,
  /max_?(model|context|seq|input)_?len(gth)?\b/i,
  /exceed(s|ed)? (the |this )?(available |model'?s? |max(imum)? )*(context|prompt length|length limit|token limit)/i,
  /(longer|greater|larger) than (the )?(model'?s? )?(maximum )?context/i,
  /context( (window|size|length|limit))? .{0,60}(exceed|too (long|large|small)|overflow|is only)/i,
  /(exceed|over|beyond|overflow).{0,60}context (window|size|length|limit)/i,
  /(prompt|input|request|conversation|messages?)( \w+){0,3}( is| are)? too (long|large)(?! for the rate)/i,
  /reduce the length of|shorter or fewer inputs/i,
  /(token count|tokens?)\b.{0,60}\bexceeds? the (limit|maximum)/i,
  /too many (input |prompt |total )?tokens(?! per)/i,
  /tokens in request more than|prompt exceeds max/i,
  /prompt contains \d+ tokens.{0,40}(limit|maximum)/i,
  /`?inputs`? (tokens \+|must have less than)/i,
  /range of input length should be/i,
  /content.{0,20}string too long/i,
];

/** A prompt that is refused for what it says. */
export const CONTENT_POLICY: readonly RegExp[] = [
  /content[ _]?(filter|polic|management|moderation)|contentfilter/i,
  /responsible_?ai|moderation|data_?inspection_?failed|inappropriate content|sensitive_?content|new_sensitive|敏感/i,
  /safety (system|violation|reasons)|safety_violation|prohibited_content|content exists risk|considered high risk/i,
  /violat\w{1,9} .{0,40}(usage|policy|guidelines)|(input|prompt|request) (was|has been) flagged|\binvalid_prompt\b/i,
];

/** An image that is refused, or not understood; only where the prompt has one. */
export const IMAGE_REFUSALS: readonly RegExp[] = [
  /image.{0,80}(not supported|unsupported|only supported|not allowed|not enabled|invalid|corrupt|could ?n[o']t|cannot|failed|unable|exceed|too (large|big|small|many))/i,
  /(not support|unsupported|does ?n[o']t support|no endpoints? found|cannot|could ?n[o']t|unable|failed|invalid|not represent|unknown variant|at most \d+).{0,80}image/i,
  /not a (multimodal|vision) model/i,
  /(multimodal|multi-modal|vision).{0,60}(not supported|unsupported|disabled|not enabled)/i,
  /content\b.{0,60}(must be|should be|expected)( a| of type)?( valid)? ?string/i,
  /(image|input)_(parse_error|url_error|too_large)/i,
];
