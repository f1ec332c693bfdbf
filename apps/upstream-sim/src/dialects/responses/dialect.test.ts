import OpenAI from 'openai';
import type {
  Response as OpenaiResponse,
  ResponseCreateParamsStreaming,
  ResponseInputItem,
  ResponseStreamEvent,
  Tool,
} from 'openai/resources/responses/responses';
import { startSimServer } from '../../sim-server.js';

const sim = await startSimServer({ host: '127.0.0.1', port: 0 });
const client = new OpenAI({ baseURL: `${sim.url}/v1`, apiKey: 'none', maxRetries: 0 });
afterAll(() => sim.close());

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const tools: Tool[] = [
  { type: 'function', name: 'weather', description: 'Weather', parameters, strict: false },
  { type: 'custom', name: 'shell', description: 'Runs', format: { type: 'grammar', syntax: 'lark', definition: 'start: /.+/' } },
];

async function stream(request: Partial<ResponseCreateParamsStreaming>): Promise<ResponseStreamEvent[]> {
  const events: ResponseStreamEvent[] = [];
  for await (const event of await client.responses.create({ model: 'sim-fast', ...request, stream: true })) events.push(event);
  return events;
}

function readUsage({ usage }: OpenaiResponse) {
  return [
    usage?.input_tokens,
    usage?.output_tokens,
    usage?.input_tokens_details.cached_tokens,
    usage?.output_tokens_details.reasoning_tokens,
  ];
}

test.each<[string, string, Partial<ResponseCreateParamsStreaming>]>([
  ['text', 'hello', {}],
  ['reasoning', 'hello [[sim reasoning=3 cached=2]]', {}],
  ['reasoning in summary', 'hello [[sim reasoning=3]]', { reasoning: { summary: 'auto' } }],
  ['calls of both kinds', 'call weather {"city":"Rome"}, call shell {"input":"date"} [[sim tokens=2]]', { tools }],
  ['interleaved calls', 'call weather {"city":"Rome"}, call shell {"input":"date"} [[sim interleave tokens=2]]', { tools }],
  ['a refusal', '[[sim refusal="I cannot help with that."]]', {}],
  ['a cut', 'hello [[sim tokens=40]]', { max_output_tokens: 16 }],
  ['a schema', 'hello', { text: { format: { type: 'json_schema', name: 'a', schema: parameters } } }],
])('%s: the stream, the official helper and the plain reply agree', async (_name, input, over) => {
  const request = { model: 'sim-fast', input, ...over } as never;
  const plain = (await client.responses.create(request)) as OpenaiResponse;
  const { output_text: _text, ...body } = plain;
  const events = await stream({ input, ...over });
  expect(events.map((event) => event.sequence_number)).toEqual(events.map((_event, index) => index));
  const last = events.at(-1);
  expect(last).toEqual({ type: `response.${plain.status}`, response: body, sequence_number: events.length - 1 });
  const done = events.flatMap((event) => (event.type === 'response.output_item.done' ? [event.item] : []));
  expect(done).toEqual(plain.output);
  const joined = events.map((event) => ('delta' in event && typeof event.delta === 'string' ? event.delta : '')).join('');
  expect(joined.length).toBeGreaterThan(0);
  const final = await client.responses.stream(request).finalResponse();
  expect([final.status, final.output_text]).toEqual([plain.status, plain.output_text]);
});

test('reports the same usage as chat completions', async () => {
  const text = 'call weather {"city":"Rome"} [[sim reasoning=2 tokens=3]]';
  const plain = (await client.responses.create({ model: 'sim-fast', instructions: 'Be brief.', input: text, tools })) as OpenaiResponse;
  const input = { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] };
  const chat = await client.chat.completions.create({
    model: 'sim-fast',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: text },
    ],
    tools: [
      { type: 'function', function: { name: 'weather', description: 'Weather', parameters } },
      {
        type: 'function',
        function: { name: 'shell', description: 'Runs\n\nThe input follows this lark grammar:\nstart: /.+/', parameters: input },
      },
    ],
  });
  expect(readUsage(plain)).toEqual([chat.usage?.prompt_tokens, chat.usage?.completion_tokens, 0, 2]);
});

test('a refusal is a part of its own type', async () => {
  const { output, status } = await client.responses.create({ model: 'sim-fast', input: '[[sim refusal="No."]]' });
  expect([output, status]).toEqual([
    [expect.objectContaining({ type: 'message', content: [{ type: 'refusal', refusal: 'No.' }] })],
    'completed',
  ]);
});

test('accepts calls and results of both kinds', async () => {
  const first = (await client.responses.create({ model: 'sim-fast', input: 'call weather, call shell', tools })) as OpenaiResponse;
  const results = first.output.map(
    (item, index): ResponseInputItem =>
      item.type === 'custom_tool_call'
        ? { type: 'custom_tool_call_output', call_id: item.call_id, output: `r${index}` }
        : {
            type: 'function_call_output',
            call_id: 'call_id' in item ? (item.call_id ?? '') : '',
            output: [{ type: 'input_text', text: `r${index}` }],
          },
  );
  const input = [{ role: 'user', content: 'call weather, call shell' }, ...first.output, ...results] as ResponseInputItem[];
  const second = (await client.responses.create({ model: 'sim-fast', input, tools })) as OpenaiResponse;
  expect(second.output_text).toBe('The result is: r0 | r1.');
  await expect(client.responses.create({ model: 'sim-fast', input: input.slice(0, 2), tools })).rejects.toThrow('No tool output found');
});

test.each([
  ['stop', { stop: ['x'] }, 'Unknown parameter'],
  ['max_output_tokens', { max_output_tokens: 15 }, 'an integer of at least 16'],
  ['previous_response_id', { previous_response_id: 'resp_1' }, 'Unsupported parameter'],
  ['tools[0]', { tools: [{ type: 'function', function: { name: 'a' } }] }, 'a function or custom tool'],
  ['tool_choice', { tools, tool_choice: { type: 'function', name: 'shell' } }, 'not found'],
  ['input[0].type', { input: [{ type: 'item_reference', id: 'x' }] }, 'needs no state'],
])('refuses %s and names it', async (param, over, words) => {
  const refusal: { status: number; param: string; message: string } = await client.responses
    .create({ model: 'sim-fast', input: 'x', ...over } as never)
    .then(
      () => {
        throw new Error('not refused');
      },
      (error) => error,
    );
  expect(refusal).toMatchObject({ status: 400, param, message: expect.stringContaining(words) });
});

test('fails with a status, with an error in the stream, or by closing the stream', async () => {
  await expect(client.responses.create({ model: 'sim-fast', input: '[[sim status=429]]' })).rejects.toThrow(OpenAI.RateLimitError);
  const response = await fetch(`${sim.url}/v1/responses`, {
    method: 'POST',
    body: JSON.stringify({ model: 'sim-fast', stream: true, input: 'hello [[sim tokens=9 error=3]]' }),
  });
  const text = await response.text();
  expect(text.match(/^event: response\.output_text\.delta$/gm)).toHaveLength(3);
  expect(text.endsWith('"param":null}\n\n') && text.includes('event: error\n')).toBe(true);
  const closed = await stream({ input: 'hello [[sim tokens=9 close=3]]' });
  expect(closed.at(-1)?.type).toBe('response.output_text.delta');
});
