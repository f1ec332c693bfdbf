import type { Turn } from '#inference/turn.js';
import { makeCall } from '../../../test/conformance.js';
import type { UpstreamFailure } from '../../failures/upstream-failure.js';
import { ADAPTERS } from '../adapters.js';

const PICTURE: Turn = { role: 'user', parts: [{ type: 'image', mediaType: 'image/png', base64: 'iVBORw0KGgo=' }] };

/** Returns the distinct codes that all dialects give a refusal. */
function readCodes(status: number, body: unknown, turns?: Turn[]): string[] {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const call = makeCall(true, turns === undefined ? {} : { turns });
  const codes = Object.values(ADAPTERS).map((adapter) => adapter.parseError({ status, headers: {}, body: text }, call).code);
  return [...new Set(codes)];
}

/** Returns the distinct codes that all dialects give an error that came with status 200. */
function codesWithinStream(body: Record<string, unknown>): (string | undefined)[] {
  const event = JSON.stringify({ type: 'error', ...body });
  const codes = Object.values(ADAPTERS).map((adapter) => {
    try {
      adapter.openStream(makeCall(true)).push(event, []);
    } catch (error) {
      return (error as UpstreamFailure).code;
    }
    return undefined;
  });
  return [...new Set(codes)];
}

const says = (message: string, fields: object = {}) => ({ error: { message, ...fields } });

test.each([
  [400, 'rejected', 'invalid_request', 'bad-request', false],
  [401, 'denied', 'model_unavailable', 'access-denied', true],
  [402, 'denied', 'model_unavailable', 'access-denied', true],
  [403, 'refused', 'upstream_error', 'forbidden', true],
  [404, 'refused', 'model_unavailable', 'model-missing', true],
  [408, 'timeout', 'upstream_timeout', 'timeout', false],
  [413, 'rejected', 'context_length_exceeded', 'context-overflow', false],
  [418, 'refused', 'upstream_error', 'other', false],
  [422, 'rejected', 'invalid_request', 'bad-request', false],
  [429, 'refused', 'model_capacity', 'rate-limit', false],
  [500, 'refused', 'upstream_error', 'other', false],
  [503, 'refused', 'model_unavailable', 'overloaded', false],
  [504, 'timeout', 'upstream_timeout', 'timeout', false],
  [529, 'refused', 'model_unavailable', 'overloaded', false],
])('status %i is %s, %s, %s in every dialect [U-23]', (status, kind, code, family, isOperatorsFault) => {
  const body = JSON.stringify(says('something', { type: 'some_error', param: null, code: null }));
  for (const adapter of Object.values(ADAPTERS)) {
    const failure = adapter.parseError({ status, headers: {}, body }, makeCall(true));
    expect(failure).toMatchObject({ kind, code, isOperatorsFault, refusal: { family, status, upstreamCode: 'some_error' } });
  }
});

test('a code that is neither a word nor a number is ignored', () => {
  for (const code of [{ toString: 1, valueOf: 1 }, [{ toString: null }], null, true])
    expect(readCodes(500, says('no', { code }))).toEqual(['upstream_error']);
  expect(readCodes(500, says('no', { code: '429' }))).toEqual(['upstream_error']); // the status of the reply counts
});

describe('a prompt that is too long is context_length_exceeded [error-context-length, U-23]', () => {
  test.each<[string, number, unknown]>([
    ['OpenAI', 400, says("This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.")],
    ['OpenAI, by code', 400, says('No.', { code: 'context_length_exceeded' })],
    ['OpenAI Responses', 400, says('Your input exceeds the context window of this model. Please adjust your input and try again.')],
    ['OpenAI, one text', 400, says("Invalid 'messages[0].content': string too long. Expected a string with maximum length 1048576.")],
    ['Azure', 400, says("This model's maximum context length is 4096 tokens, however you requested 5000 tokens (4000 in your prompt).")],
    ['vLLM', 400, { object: 'error', message: "This model's maximum context length is 4096 tokens.", code: 400 }],
    [
      'vLLM, the cap',
      400,
      says("'max_tokens' is too large: 32000. This model's maximum context length is 32768 tokens and your request has 900."),
    ],
    ['vLLM, the prompt', 400, says('The decoder prompt (length 9000) is longer than the maximum model length of 8192.')],
    ['vLLM, newer', 400, says("You passed 9001 input tokens. However, the model's context length is only 8192 tokens.")],
    ['SGLang', 400, says("The input (5000 tokens) is longer than the model's context length (4096 tokens).")],
    ['SGLang, the sum', 400, says("Requested token count exceeds the model's maximum context length of 4096 tokens.")],
    ['SGLang, the input', 400, says('Input length (5000 tokens) exceeds the maximum allowed length (4096 tokens).')],
    ['llama.cpp', 400, says('request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it')],
    ['llama.cpp, by type', 400, says('No.', { type: 'exceed_context_size_error', code: 400 })],
    ['llama.cpp, as a fault', 500, says('Context size has been exceeded.', { code: 500, type: 'server_error' })],
    ['Ollama', 400, says('prompt too long; exceeded max context length by 17 tokens')],
    ['Ollama, the input', 400, { error: 'the input length exceeds the context length' }],
    ['LM Studio', 400, { error: 'The number of tokens to keep from the initial prompt is greater than the context length.' }],
    [
      'LM Studio, loaded',
      400,
      { error: 'Trying to keep the first 900 tokens when context the overflows. The context length of only 512 tokens' },
    ],
    [
      'TGI',
      422,
      { error: 'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000', error_type: 'validation' },
    ],
    ['TGI, the input', 422, { error: 'Input validation error: `inputs` must have less than 1024 tokens. Given: 2000' }],
    ['Anthropic', 400, says('prompt is too long: 213462 tokens > 200000 maximum', { type: 'invalid_request_error' })],
    ['Anthropic, the sum', 400, says('input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000')],
    ['Anthropic, the body', 413, { type: 'error', error: { type: 'request_too_large', message: 'Request exceeds the maximum size' } }],
    ['Bedrock', 400, { message: 'Input is too long for requested model.' }],
    ['Bedrock, counted', 400, { message: 'Too many input tokens. Max input tokens: 8192, request input token count: 9279' }],
    ['Gemini', 400, [says('The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).')]],
    ['xAI', 400, says("This model's maximum prompt length is 131072 but the request contains 537812 tokens")],
    ['Groq', 400, says('Please reduce the length of the messages or completion.')],
    ['Copilot', 400, says('prompt token count of 130000 exceeds the limit of 128000')],
    ['MiniMax', 400, says('invalid params, context window exceeds limit (2013)')],
    ['Moonshot', 400, says('Invalid request: Your request exceeded model token limit: 131072 (requested: 140000)')],
    ['Mistral', 400, says('Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length')],
    ['DashScope', 400, says('<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 98304]')],
    ['Zhipu', 400, says('Prompt exceeds max length', { code: '1261' })],
    ['Fireworks', 400, says('The prompt is too long: 50000, model maximum context length: 32767')],
    ['Cohere', 400, { message: 'too many tokens: size limit exceeded by 1234 tokens. Try using shorter or fewer inputs' }],
    ['OpenRouter', 400, says("This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens.")],
    ['Cloudflare', 413, says('The estimated number of input and maximum output tokens exceeded this model context window limit (4096)')],
    ['Vertex', 400, says('Unable to submit request because the input token count is 32825 but model only supports up to 32768.')],
    [
      'OpenAI, large models',
      400,
      says('Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 290000 tokens.'),
    ],
    ['a configured size', 400, says('Prompt has 5,958,968 tokens, but the configured context size is 256,000 tokens')],
    ['a total', 400, says('Token limit exceeded')],
    ['a body', 400, { message: 'Payload too large' }],
    ['Volcengine', 400, says('Total tokens of image and text exceed max message tokens. Request id: 1')],
    ['watsonx', 400, says('the number of input tokens 5000 cannot exceed the total tokens limit 4096 for this model')],
    ['Poolside', 400, says('Input length 131393 exceeds the maximum allowed input length of 131040 tokens.')],
    ['TensorRT-LLM', 400, says('prompt length (5000) exceeds maximum input length (4096).')],
    ['Z.ai', 400, says('tokens in request more than max tokens allowed', { code: '1210' })],
    ['Perplexity', 400, says('The total length of all messages is too long.')],
    ['Together', 400, says("The input (265330 tokens) is longer than the model's context length (262144 tokens).")],
    [
      'DeepSeek',
      400,
      says("This model's maximum context length is 131072 tokens. However, you requested 150000 tokens (142000 in the messages)."),
    ],
    ['a status alone', 413, ''],
    ['a bare text', 400, says('too many tokens')],
    ['a formula', 400, says('inputs tokens + max_new_tokens must be <= max_model_len')],
    ['a limit', 400, says('Prompt contains 40000 tokens, over the limit of 32000 tokens')],
  ])('%s', (_server, status, body) => {
    expect(readCodes(status, body)).toEqual(['context_length_exceeded']);
  });
});

describe('content that the model refuses is unsupported_content', () => {
  test.each<[string, number, unknown]>([
    [
      'Azure',
      400,
      says('The response was filtered due to the prompt triggering our content management policy', { code: 'content_filter' }),
    ],
    ['Azure, inside', 400, says('No.', { code: 'ResponsibleAIPolicyViolation' })],
    ['OpenAI', 400, says('Invalid prompt: your prompt was flagged as potentially violating our usage policy.', { code: 'invalid_prompt' })],
    ['OpenAI, the safety system', 400, says('Your request was rejected as a result of our safety system.')],
    ['Anthropic', 400, says('Output blocked by content filtering policy', { type: 'invalid_request_error' })],
    ['DashScope', 400, says('Input text data may contain inappropriate content.', { code: 'data_inspection_failed' })],
    ['DeepSeek', 400, says('Content Exists Risk')],
    ['Moonshot', 400, says('The request was rejected because it was considered high risk', { type: 'content_filter' })],
    ['Zhipu', 400, says('系统检测到输入或生成内容可能包含不安全或敏感内容', { code: '1301' })],
    ['MiniMax', 422, says('input new_sensitive (1026)')],
    ['xAI', 403, says('Content violates usage guidelines.')],
    ['OpenRouter', 403, says('The model requires moderation. Your input was flagged for "violence".', { code: 403 })],
    ['Gemini', 400, says('The prompt was blocked: PROHIBITED_CONTENT')],
  ])('%s', (_server, status, body) => {
    expect(readCodes(status, body)).toEqual(['unsupported_content']);
  });
});

describe('images that the model refuses', () => {
  test.each<[string, number, unknown]>([
    ['OpenAI, the model', 400, says('Invalid content type. image_url is only supported by certain models.')],
    [
      'OpenAI, the image',
      400,
      says('You uploaded an unsupported image. Please make sure your image is valid.', { code: 'image_parse_error' }),
    ],
    ['vLLM, the model', 400, says('Qwen/Qwen3-8B is not a multimodal model')],
    ['vLLM, how many', 400, says('At most 0 image(s) may be provided in one prompt.')],
    ['vLLM, the image', 400, says('cannot identify image file <_io.BytesIO object>')],
    ['llama.cpp', 500, says('image input is not supported - hint: if this is unexpected, you may need to provide the mmproj')],
    ['Ollama', 400, says('this model does not support image input')],
    ['Anthropic, the image', 400, says('messages.0.content.0.image.source.base64.data: Could not process image')],
    [
      'Anthropic, its size',
      400,
      says('messages.0.content.0.image.source.base64: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes'),
    ],
    ['Anthropic, its data', 400, says('The image data you provided does not represent a valid image.')],
    ['Mistral', 400, says('Image input is not enabled for this model')],
    ['DeepSeek', 400, says('messages[0]: unknown variant `image_url`, expected `text` at line 1')],
    ['Groq', 400, says("'messages.0.content' : value must be a string")],
    ['OpenRouter', 404, says('No endpoints found that support image input', { code: 404 })],
    ['a body too large for it', 413, says('image too large')],
    ['a data URL', 400, says('Unable to load image from the data URL')],
  ])('%s', (_server, status, body) => {
    expect(readCodes(status, body, [PICTURE])).toEqual(['unsupported_content']);
  });

  test('the same text without an image is invalid_request', () => {
    expect(readCodes(400, says('image_url is only supported by certain models'))).toEqual(['invalid_request']);
  });
});

describe('a denied key or account is retried on another route and reported to the operator', () => {
  function denials(status: number, body: unknown, headers = {}): unknown[] {
    return Object.values(ADAPTERS).map((adapter) => {
      const failure = adapter.parseError({ status, headers, body: JSON.stringify(body) }, makeCall(true));
      const { kind, code, retryable, isOperatorsFault, retryAfterSeconds } = failure;
      return { kind, code, retryable, isOperatorsFault, retryAfterSeconds };
    });
  }
  const denied = { kind: 'denied', code: 'model_unavailable', retryable: true, isOperatorsFault: true, retryAfterSeconds: undefined };

  test.each<[string, number, unknown]>([
    [
      'OpenAI',
      429,
      says('You exceeded your current quota, please check your plan.', { type: 'insufficient_quota', code: 'insufficient_quota' }),
    ],
    ['OpenAI, the limit', 429, says('No.', { code: 'billing_hard_limit_reached' })],
    ['Anthropic', 400, says('Your credit balance is too low to access the Anthropic API.', { type: 'invalid_request_error' })],
    ['DeepSeek', 402, says('Insufficient Balance', { type: 'unknown_error', code: 'invalid_request_error' })],
    ['Moonshot', 429, says('Your account is suspended, please check your plan.', { type: 'exceeded_current_quota_error' })],
    ['Zhipu', 429, says('余额不足或无可用资源包,请充值。', { code: '1113' })],
    ['DashScope', 400, says('Access denied, please make sure your account is in good standing.', { code: 'Arrearage' })],
    ['xAI', 403, says("Your newly created team doesn't have any credits or licenses yet.")],
    ['xAI, spent', 429, says('Your team has either used all available credits or reached its monthly spending limit.')],
  ])('no credit: %s', (_server, status, body) => {
    expect(denials(status, body)).toEqual(Array(Object.keys(ADAPTERS).length).fill({ ...denied, retryAfterSeconds: 60 }));
  });

  test('no credit, with Retry-After', () => {
    const body = says('No.', { code: 'insufficient_quota' });
    expect(denials(429, body, { 'retry-after': '7' })).toEqual(
      Array(Object.keys(ADAPTERS).length).fill({ ...denied, retryAfterSeconds: 7 }),
    );
  });

  test.each<[string, number, unknown]>([
    ['a status', 401, says('No.')],
    ['OpenAI', 401, says('Incorrect API key provided: sk-…', { code: 'invalid_api_key' })],
    ['Gemini', 400, says('API key not valid. Please pass a valid API key.', { status: 'INVALID_ARGUMENT' })],
    ['xAI', 400, says('Incorrect API key provided: xai-…')],
  ])('a wrong key: %s', (_server, status, body) => {
    expect(denials(status, body)).toEqual(Array(Object.keys(ADAPTERS).length).fill(denied));
  });

  test.each<[string, number, unknown]>([
    ['Groq', 400, says('The model `llama3` has been decommissioned and is no longer supported.', { code: 'model_decommissioned' })],
    ['DeepSeek', 400, says('Model Not Exist', { code: 'invalid_request_error' })],
    ['Mistral', 400, says('Invalid model: large-9', { type: 'invalid_model' })],
    ['OpenAI', 404, says('The model `x` does not exist or you do not have access to it.', { code: 'model_not_found' })],
    ['a status', 410, says('Gone')],
  ])('no such model: %s', (_server, status, body) => {
    expect(denials(status, body)).toEqual(Array(Object.keys(ADAPTERS).length).fill({ ...denied, kind: 'refused' }));
  });

  test.each<[string, number, unknown, string]>([
    [
      'a limit that passes',
      429,
      says('You exceeded your current quota. Please retry in 17s.', { status: 'RESOURCE_EXHAUSTED' }),
      'refused',
    ],
    ['what a client has written', 400, says("messages[0].content: 'insufficient_quota, API key not valid'"), 'rejected'],
    ['a part of what is asked', 402, says('This request requires more credits, or fewer max_tokens.'), 'denied'],
  ])('neither permanent nor a lack of credit: %s', (_what, status, body, kind) => {
    const [found] = denials(status, body) as [{ kind: string; retryAfterSeconds?: number }];
    expect([found.kind, found.retryAfterSeconds === 60]).toEqual([kind, false]);
  });
});

describe('other refusals', () => {
  test.each<[string, number, unknown, string]>([
    ['a field', 400, says("Unknown parameter: 'seed'."), 'invalid_request'],
    [
      "a cap beyond the model's",
      400,
      says('max_tokens is too large: 100000. This model supports at most 16384 completion tokens.'),
      'invalid_request',
    ],
    [
      'a name',
      400,
      says("Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64."),
      'invalid_request',
    ],
    ['roles', 400, says('Conversation roles must alternate user/assistant/user/assistant/...'), 'invalid_request'],
    ['a template', 500, says('Jinja Exception: System message must be at the beginning'), 'upstream_error'],
    ['a tool', 400, says('tool_use ids were found without tool_result blocks immediately after'), 'invalid_request'],
    ['the key', 403, says('This key may not use the model.'), 'upstream_error'],
    ['the model', 404, says('The model `x` does not exist.'), 'model_unavailable'],
    ['a limit of rate in words of length', 400, says('Too many tokens, please wait before trying again.'), 'invalid_request'],
    ['a rate of tokens', 429, says('Rate limit reached: too many tokens per minute.'), 'model_capacity'],
    ['a rate of tokens, as a size', 413, says('Request too large on tokens per minute', { code: 'rate_limit_exceeded' }), 'model_capacity'],
  ])('%s', (_what, status, body, code) => {
    expect(readCodes(status, body)).toEqual([code]);
  });
});

describe('a refusal that passes is no fault of the client, whatever the server calls it', () => {
  const invalid = { type: 'invalid_request_error', code: null };
  const OVERLOADED = [
    ...['The chosen model is at capacity. Use another model.', 'Selected model is at capacity. Please try a different model.'],
    ...['The model `big-7b` is currently at full capacity', 'That model is currently overloaded with other requests.', 'Overloaded'],
    ...['The engine is currently overloaded, please try again later', 'Our servers are currently overloaded. Please try again later.'],
    ...['Service is too busy. We advise users to temporarily switch.', 'Server busy, please try again later.'],
    ...['This model is currently experiencing high demand. Please try again later.', 'The service is temporarily unavailable.'],
    ...[
      'No available capacity for this model',
      'Capacity temporarily exceeded, please try again.',
      'The model org/x-7B is currently loading',
    ],
    ...[
      'Service tier capacity exceeded for this model.',
      'Insufficient capacity',
      'Request queue is full',
      '当前分组上游负载已饱和，请稍后再试',
    ],
  ];
  const RATE_LIMITED = [
    ...[
      'Rate limit reached for requests',
      'Too many requests, slow down',
      'Your organization rate limit is exceeded',
      'You are rate limited',
    ],
    ...['The request was throttled.', 'Max concurrency limit reached', '该模型当前访问量过大，请您稍后再试'],
  ];

  test.each([...OVERLOADED.map((text) => [text, 'model_unavailable']), ...RATE_LIMITED.map((text) => [text, 'model_capacity'])])(
    '%s',
    (text, code) => {
      for (const status of [400, 422]) expect(readCodes(status, says(text, invalid))).toEqual([code]);
      expect(codesWithinStream(says(text, invalid))).toEqual([code]);
      expect(codesWithinStream(says(text))).toEqual([code]);
    },
  );

  test.each([
    "Invalid value: 'overloaded'. Supported values are: 'a' and 'b'.",
    'messages[0].content: the model is at capacity',
    'The model does not support `temperature` at capacity 2.',
    'Tool `server` is not in tools',
    "Unknown parameter: 'rate_limit'.",
  ])('but not: %s', (text) => {
    expect(readCodes(400, says(text, invalid))).toEqual(['invalid_request']);
    expect(codesWithinStream(says(text, invalid))).toEqual(['invalid_request']);
  });
});

test.each([
  ...["Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.", 'Failed to generate JSON.'],
  ...["The model's output could not be parsed", 'Model produced a malformed tool call', 'The model generated invalid JSON'],
  ...['The model output does not match the schema', 'Model returned an invalid function call'],
])('what the model got wrong is no fault of the client: %s', (text) => {
  const body = says(text, { type: 'invalid_request_error' });
  expect([readCodes(400, body), readCodes(422, body), codesWithinStream(body)]).toEqual([
    ['upstream_error'],
    ['upstream_error'],
    ['upstream_error'],
  ]);
});

test.each([
  'Failed to parse tool call arguments as JSON: parse error at line 1',
  'messages[1].tool_calls[0].function.arguments: not valid JSON',
  "messages[0].content: the model's output could not be parsed",
  'The model does not support JSON schemas',
  'Model output format json_schema is not supported',
  'model response format must be one of text, json_object',
  'Error in model loading options',
  'This endpoint is unavailable for your account',
])('what the client sent is its fault: %s', (text) => {
  expect(readCodes(400, says(text, { type: 'invalid_request_error' }))).toEqual(['invalid_request']);
});

describe('an error with status 200 has the status that its code or type names', () => {
  test.each<[string, object]>([
    ['invalid_request', { type: 'invalid_request_error', param: 'temperature', code: null }],
    ['invalid_request', { type: 'invalid_request_error', code: 'unsupported_parameter' }],
    ['invalid_request', { code: 'unsupported_value' }],
    ['invalid_request', { code: 'invalid_value', type: null }],
    ['invalid_request', { type: 'BadRequestError' }],
    ['invalid_request', { type: 'ValidationException' }],
    ['invalid_request', { code: 'INVALID_ARGUMENT' }],
    ['invalid_request', { code: 'InvalidParameter' }],
    ['invalid_request', { type: 'invalid_request_error', code: '400' }],
    ['model_unavailable', { type: 'authentication_error' }],
    ['model_unavailable', { type: 'not_found_error', code: 'model_not_found' }],
    ['model_unavailable', { type: 'invalid_request_error', code: 'model_not_found' }],
    ['model_unavailable', { type: 'overloaded_error' }],
    ['model_unavailable', { code: 'server_is_overloaded' }],
    ['model_unavailable', { type: 'ServiceUnavailableError' }],
    ['model_unavailable', { code: 503, type: 'invalid_request_error' }],
    ['model_capacity', { type: 'rate_limit_error' }],
    ['model_capacity', { code: 'rate_limit_exceeded', type: 'invalid_request_error' }],
    ['model_capacity', { type: 'ThrottlingException' }],
    ['model_capacity', { code: 'RESOURCE_EXHAUSTED' }],
    ['upstream_timeout', { type: 'timeout_error' }],
    ['upstream_timeout', { code: 'DEADLINE_EXCEEDED' }],
    ['upstream_error', { code: 'server_error', type: 'invalid_request_error' }],
    ['upstream_error', { type: 'api_error' }],
    ['upstream_error', { type: 'InternalServerError' }],
    ['upstream_error', { type: 'unknown_error' }],
    ['upstream_error', { type: 'ValidationError' }],
    ['upstream_error', { code: 'tool_use_failed', type: 'invalid_request_error' }],
    ['context_length_exceeded', { code: 'context_length_exceeded', type: 'invalid_request_error' }],
  ])('%s: %j', (code, fields) => {
    expect(codesWithinStream(says('no', fields))).toEqual([code]);
  });
});

test.each(['server_error', 'api_error', undefined])('a balance that is used up is no credit, whatever the type: %s', (type) => {
  expect(codesWithinStream(says('Insufficient balance', { type }))).toEqual(['model_unavailable']);
});

test('the text identifies a call that the model got wrong where the dialect has no code', () => {
  const texts = [
    "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
    'Tool call validation failed: x',
  ];
  expect(texts.map((text) => readCodes(400, says(text)))).toEqual([['upstream_error'], ['upstream_error']]);
  expect(readCodes(400, says('You said: failed to call a function'))).toEqual(['invalid_request']);
});

test('of a long error only the begin and the end are searched, so that its length costs no time [fault-words]', () => {
  const filler = 'x '.repeat(10_000);
  const overflow = 'maximum context length exceeded';
  const at = (...parts: string[]) => readCodes(400, says(parts.join(' ')));
  expect({
    begin: at(overflow, filler, filler),
    middle: at(filler, overflow, filler),
    end: at(filler, filler, overflow),
  }).toEqual({ begin: ['context_length_exceeded'], middle: ['invalid_request'], end: ['context_length_exceeded'] });
});
