/*
 * Patterns of the codes and sentences with which servers refuse a request. Each line is a family of sentences, not a server;
 * `classify-refusal.test.ts` has the sentences, server by server.
 */

/** The prompt and the output do not fit the model. Rate limits use similar sentences: their status tells them apart. */
export const CONTEXT_OVERFLOW: readonly RegExp[] = [
  /context[ _](length|size|window)[ _](exceeded|error)|exceed(ed|s)?_context/i,
  /max(imum)? (allowed )?(context|model|input|prompt|sequence|allowed) length/i,
  /max_?(model|context|seq|input)_?len(gth)?\b/i,
  /exceed(s|ed)? (the |this )?(available |model'?s? |max(imum)? )*(context|prompt length|length limit|token limit)/i,
  /(longer|greater|larger) than (the )?(model'?s? )?(maximum )?context/i,
  /context( (window|size|length|limit))? .{0,60}(exceed|too (long|large|small)|overflow|is only)/i,
  /(exceed|over|beyond|overflow).{0,60}context (window|size|length|limit)/i,
  /(prompt|input|request|conversation|messages?)( \w+){0,3}( is| are)? too (long|large)(?! for the rate)/i,
  /reduce the length of|shorter or fewer inputs/i,
  /(token count|tokens?)\b.{0,60}\bexceeds? (the )?(total )?(tokens? )?(limit|max(imum)?\b|configured limit)/i,
  /token count is \d+.{0,40}supports up to|configured context size is/i,
  /\btoken limit exceeded|\b(payload|request body) too large/i,
  /too many (input |prompt |total )?tokens(?! per|,? please wait)/i,
  /tokens in request more than|prompt exceeds max/i,
  /prompt contains \d+ tokens.{0,40}(limit|maximum)/i,
  /`?inputs`? (tokens \+|must have less than)/i,
  /range of input length should be/i,
  /content.{0,20}string too long/i,
];

/** The prompt is refused for its content. */
export const CONTENT_POLICY: readonly RegExp[] = [
  /content[ _]?(filter|polic|management|moderation)|contentfilter/i,
  /responsible_?ai|moderation|data_?inspection_?failed|inappropriate content|sensitive_?content|new_sensitive|敏感/i,
  /safety (system|violation|reasons)|safety_violation|prohibited_content|content exists risk|considered high risk/i,
  /violat\w{1,9} .{0,40}(usage|policy|guidelines)|(input|prompt|request) (was|has been) flagged|\binvalid_prompt\b/i,
];

/** An image is refused or not understood. Tested only when the prompt has one. */
export const IMAGE_REFUSALS: readonly RegExp[] = [
  /image.{0,80}(not supported|unsupported|only supported|not allowed|not enabled|invalid|corrupt|could ?n[o']t|cannot|failed|unable|exceed|too (large|big|small|many))/i,
  /(not support|unsupported|does ?n[o']t support|no endpoints? found|cannot|could ?n[o']t|unable|failed|invalid|not represent|unknown variant|at most \d+).{0,80}image/i,
  /not a (multimodal|vision) model/i,
  /(multimodal|multi-modal|vision).{0,60}(not supported|unsupported|disabled|not enabled)/i,
  /content\b.{0,60}(must be|should be|expected)( a| of type)?( valid)? ?string/i,
  /(image|input)_(parse_error|url_error|too_large)/i,
];

/** Patterns of a refusal of our key or account. */
export interface DenialPatterns {
  /** Match machine-readable codes, with any status. */
  codes: RegExp;
  /** Match texts, with a status that is about our account. */
  texts?: RegExp;
  /** Match the beginnings of texts, with other statuses: further on, a text may repeat what the client wrote. */
  openings: RegExp;
}

/** The account has no credit. Rate limits are also called quotas, but not by these codes. */
export const NO_CREDIT: DenialPatterns = {
  codes:
    /insufficient_(user_)?(quota|balance|credits?)|exceeded_current_quota|billing_(hard_limit_reached|not_active|error)|(spend|usage)_limit_exceeded|quota_exhausted|arrearage|(^|\s)1113(\s|$)/i,
  texts: /\b(insufficient|used all|any|no|out of|not enough)( \w+){0,2} (balance|credits?)\b|spending limit|余额不足|欠费/i,
  openings: /^your credit balance is too low|^insufficient (account )?balance|^credit insufficient/i,
};

export const WRONG_KEY: DenialPatterns = {
  codes: /(invalid|incorrect|expired)_?api_?key|api_?key_?invalid|account_(deactivated|suspended)/i,
  openings: /^(the )?api key (is )?(not (valid|found)|invalid|expired)|^(invalid|incorrect) api key/i,
};

/** The model does not exist, or no longer does. */
export const MODEL_MISSING = {
  codes: /model_?(not_?found|decommissioned|not_exist)|(unsupported|invalid|unknown)_model\b/i,
  openings:
    /^model not exist|^(invalid|unknown) model\b|^the provided model identifier is invalid|^invocation of model id\b|^the (requested )?model\b.{0,100}(does not exist|not found|decommissioned|not supported)/i,
};

/** A reply that the model got wrong, with the status of a wrong request: the client can do nothing about it. */
export const MODEL_OUTPUT = {
  codes: /tool_use_failed|json_validate_failed|model_output|output_parse|malformed_(tool|function)|invalid_tool_generation/i,
  /** Beginnings of texts about what the model wrote. Texts about calls that the client sent do not name the model. */
  openings:
    /^failed to (call a function|generate (valid )?json)\b|^tool call validation failed\b|^(the )?model('s)?( has| have)? (output|response|generation|generated|produced|returned|emitted|wrote)\b(?! (format|type|mode)).{0,80}(malformed|invalid|not (be )?(parsed?|valid)|unpars|schema|json)/i,
};

/** Patterns of a refusal that passes by itself. */
export interface BusyPatterns {
  /** Match machine-readable codes, with any status. */
  codes: RegExp;
  /** Match the beginnings of texts, with statuses that say nothing about load: some servers call a full model an invalid request. */
  openings: readonly RegExp[];
}

/** Parts of a sentence such as `The chosen model is currently at full capacity`, with a name where `llama-3` stands in `The model llama-3`. */
const SERVER = '\\b(models?|servers?|engine|service|system|cluster|backend|provider|endpoint|deployment)';
const ADVERB = '(currently|temporarily|too|already|now|still|overly)';
const LOAD = '(experiencing|under) (\\w+ )?(high|heavy) (demand|load|traffic)';
const NOT_OPTIONS = '(?! (option|param|config|arg|setting))';
const NOT_FOR_US = '(?! (for|to|in|on|with|under) (your|(this|the) (account|organi[sz]ation|project|plan|tier|key|region))\\b)';
const BUSY = `(at( \\w+)? capacity|(out of|no)( \\w+)? capacity|overloaded|busy|loading${NOT_OPTIONS}|not ready|unavailable${NOT_FOR_US}|${LOAD})\\b`;

export const RATE_LIMITED: BusyPatterns = {
  codes: /rate_?limit|too_many_requests|throttl|resource_?exhausted|insufficient_system_resource|queue_full|(^|\s)130[235](\s|$)/i,
  openings: [
    /^((the|your|this) )?((organization|account|request|token|model|api|upstream) ){0,2}rate[ -]?limit(s|ed)?\b/i,
    /^too many (concurrent |parallel )?requests/i,
    /^(the )?requests? (was|were|has been|have been) (throttled|rate[ -]limited)|^you( have|'ve|'re| are)? (been )?(throttled|rate[ -]limited)/i,
    /^((the|maximum|max) )*concurren(t|cy)\b.{0,30}(limit|exceed|reached)/i,
    /^.{0,16}(访问量过大|(请求|调用)(过于|太)?频繁|速率限制|并发(数|量)|限流)/,
  ],
};

export const OVERLOADED: BusyPatterns = {
  codes: /overloaded|unavailable|(no|at|over)_capacity|capacity_(exceeded|error)|server_busy/i,
  openings: [
    new RegExp(`^[^:]{0,40}${SERVER}( [^ :]{1,80})?( (is|are|has|have))?( ${ADVERB}){0,2} ${BUSY}`, 'i'),
    /^overloaded\b|^we('re| are)( \w+)? experiencing (very )?(high|heavy|increased)/i,
    /^(there is |there's )?(insufficient|no|not enough|out of)( \w+){0,2} capacity\b|^capacity\b.{0,20}(exceeded|reached|exhausted)/i,
    /^(the )?((service|model)( tier)? )?capacity (is |was |has been )?(temporarily )?(exceeded|reached|exhausted)/i,
    /^(due to |because of )?(unusually |very )?high (demand|load|traffic)|^(the |request )*queue is full|^no healthy upstream/i,
    /^.{0,16}(负载(过高|已饱和|已满)|繁忙|过载|算力不足|容量不足)/,
  ],
};
