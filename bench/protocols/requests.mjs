/**
 * Requests in all three formats: a short chat, a long turn of a coding agent, and images up to the body limit.
 *
 * @typedef {'chat' | 'responses' | 'messages'} Format
 * @typedef {{ role: 'user' | 'assistant', text?: string, call?: { id: string, name: string, input: string }, result?: { id: string, text: string } }} Message
 * @typedef {{ name: string, system: string, messages: Message[], tools: Tool[], images: string[] }} Workload
 * @typedef {{ name: string, description: string, parameters: object }} Tool
 */

const SENTENCE = 'The gateway parses what the client sent, “holds” what it may cost, and renders what the model said; 1,024 bytes of it.\n';
const MIB = 1024 * 1024;

/** @type {Workload[]} */
export const WORKLOADS = [
  { name: 'chat of 2 kB', system: prose(500), messages: chat(), tools: [], images: [] },
  { name: 'agent turn, 200 messages, 30 tools', system: prose(8_000), messages: agentTurn(), tools: tools(), images: [] },
  {
    name: 'two images, 8 MB',
    system: prose(100),
    messages: [{ role: 'user', text: 'What is on them?' }],
    tools: [],
    images: [image(), image()],
  },
];

/** The body of a streamed request. @param {Format} format @param {Workload} workload @returns {object} */
export function makeBody(format, workload) {
  return BODIES[format](workload);
}

/** @type {Record<Format, (workload: Workload) => object>} */
const BODIES = {
  chat: ({ system, messages, tools, images }) => ({
    model: 'sim-fast',
    stream: true,
    stream_options: { include_usage: true },
    messages: [{ role: 'system', content: system }, ...messages.map((message) => chatMessage(message, images))],
    ...(tools.length > 0 && { tools: tools.map((tool) => ({ type: 'function', function: tool })), tool_choice: 'auto' }),
  }),
  responses: ({ system, messages, tools, images }) => ({
    model: 'sim-fast',
    stream: true,
    store: false,
    instructions: system,
    input: messages.map((message) => responsesItem(message, images)),
    ...(tools.length > 0 && { tools: tools.map((tool) => ({ type: 'function', ...tool })), tool_choice: 'auto' }),
  }),
  messages: ({ system, messages, tools, images }) => ({
    model: 'sim-fast',
    stream: true,
    max_tokens: 4096,
    system: [{ type: 'text', text: system, cache_control: { type: 'ephemeral' } }],
    messages: messages.map((message) => ({ role: message.role, content: messagesBlocks(message, images) })),
    ...(tools.length > 0 && { tools: tools.map(({ parameters, ...tool }) => ({ ...tool, input_schema: parameters })) }),
  }),
};

function chatMessage(/** @type {Message} */ { role, text, call, result }, /** @type {string[]} */ images) {
  if (result) return { role: 'tool', tool_call_id: result.id, content: result.text };
  if (call) {
    const made = { id: call.id, type: 'function', function: { name: call.name, arguments: call.input } };
    return { role, content: text ?? null, tool_calls: [made] };
  }
  if (images.length === 0) return { role, content: text };
  const parts = images.map((data) => ({ type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } }));
  return { role, content: [{ type: 'text', text }, ...parts] };
}

function responsesItem(/** @type {Message} */ { role, text, call, result }, /** @type {string[]} */ images) {
  if (result) return { type: 'function_call_output', call_id: result.id, output: result.text };
  if (call) return { type: 'function_call', call_id: call.id, name: call.name, arguments: call.input };
  const parts = images.map((data) => ({ type: 'input_image', image_url: `data:image/png;base64,${data}` }));
  return { type: 'message', role, content: [{ type: role === 'user' ? 'input_text' : 'output_text', text }, ...parts] };
}

function messagesBlocks(/** @type {Message} */ { text, call, result }, /** @type {string[]} */ images) {
  if (result) return [{ type: 'tool_result', tool_use_id: result.id, content: [{ type: 'text', text: result.text }] }];
  if (call) return [{ type: 'tool_use', id: call.id, name: call.name, input: JSON.parse(call.input) }];
  return [...images.map((data) => ({ type: 'image', source: { type: 'base64', media_type: 'image/png', data } })), { type: 'text', text }];
}

/** @returns {Message[]} */
function chat() {
  return [
    { role: 'user', text: prose(300) },
    { role: 'assistant', text: prose(600) },
    { role: 'user', text: prose(400) },
  ];
}

/** A question, and 199 messages of calls and results. @returns {Message[]} */
function agentTurn() {
  const steps = Array.from({ length: 99 }, (_, step) => {
    const id = `call_${String(step).padStart(20, 'k')}`;
    const input = JSON.stringify({
      path: `src/part-${step}/file.ts`,
      start: step * 10,
      text: prose(200),
      options: { all: true, depth: step },
    });
    return /** @type {Message[]} */ ([
      { role: 'assistant', call: { id, name: `tool_${step % 30}`, input } },
      { role: 'user', result: { id, text: prose(step % 5 === 0 ? 8_000 : 1_200) } },
    ]);
  });
  return [{ role: 'user', text: prose(1_000) }, ...steps.flat(), { role: 'user', text: 'Go on.' }];
}

/** @returns {Tool[]} */
function tools() {
  return Array.from({ length: 30 }, (_, index) => ({
    name: `tool_${index}`,
    description: prose(900),
    parameters: {
      type: 'object',
      properties: Object.fromEntries(
        ['path', 'start', 'text', 'options', 'query', 'limit'].map((field) => [
          field,
          { type: 'string', description: prose(120), enum: ['a', 'b'] },
        ]),
      ),
      required: ['path', 'start'],
      additionalProperties: false,
    },
  }));
}

/** A little less than half of the body limit. */
function image() {
  const bytes = Buffer.alloc(Math.floor((8 * MIB - 2_000) / 2 / 4) * 3, 'png of no meaning ');
  return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), bytes])
    .subarray(0, bytes.length)
    .toString('base64');
}

function prose(/** @type {number} */ length) {
  return SENTENCE.repeat(Math.ceil(length / SENTENCE.length)).slice(0, length);
}
