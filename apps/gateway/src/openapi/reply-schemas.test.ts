import { join } from 'node:path';
import { GatewayError } from '#inference/errors.js';
import { collectCompletion } from '#testing/collect-completion.js';
import { closed, DocumentSchemas } from '#testing/document-schemas.js';
import { testCases } from '#testing/long-run.js';
import { streamEvents } from '#testing/stream-events.js';
import { readArchives } from '#testing/text-archive.js';
import { ADAPTERS } from '../protocols/adapters.js';
import { REQUEST_EXAMPLES as CHAT_EXAMPLES } from '../protocols/chat/examples.js';
import type { RequestExample } from '../protocols/json-schema/json-schema.js';
import { REQUEST_EXAMPLES as MESSAGES_EXAMPLES } from '../protocols/messages/examples.js';
import type { ProtocolAdapter, ProtocolName, ReplyContext } from '../protocols/protocol-adapter.js';
import { REQUEST_EXAMPLES as RESPONSES_EXAMPLES } from '../protocols/responses/examples.js';
import { openApiDocument } from './document.js';

/** Checks that everything an adapter can render matches the document, field by field. */

const schemas = new DocumentSchemas(closed(openApiDocument()));
const PROTOCOLS = join(import.meta.dirname, '../protocols');

const COUNTS = { usual: 50, long: 2_000 };

/** The components that describe what a format writes. */
const COMPONENTS: Record<ProtocolName, { requests: Record<string, RequestExample>; reply: string; event: string }> = {
  chat: { requests: CHAT_EXAMPLES, reply: 'ChatCompletion', event: 'ChatStreamEvent' },
  responses: { requests: RESPONSES_EXAMPLES, reply: 'Response', event: 'ResponseStreamEvent' },
  messages: { requests: MESSAGES_EXAMPLES, reply: 'Message', event: 'MessageStreamEvent' },
};

describe.each(Object.values<ProtocolAdapter>(ADAPTERS))('$name', (adapter) => {
  const { requests, reply, event } = COMPONENTS[adapter.name];
  const golden = readArchives(join(PROTOCOLS, adapter.name, '__fixtures__/replies'));
  const parsed = adapter.parseRequest(requests.streamed?.value);
  const tools = { customTools: adapter.name !== 'messages', namespaces: adapter.name === 'responses' };

  test.each([...golden.keys()])('golden reply %s', (file) => {
    const text = String(golden.get(file));
    if (file.endsWith('.json')) expect(schemas.component(reply, JSON.parse(text))).toEqual([]);
    else expectEvents(text);
  });

  testCases('any valid stream with keep-alives, and the plain reply of the same events', COUNTS, streamEvents(tools), (events) => {
    const completion = collectCompletion(events);
    expect(schemas.component(reply, JSON.parse(adapter.renderCompletion(REPLY, parsed, completion)))).toEqual([]);
    const renderer = adapter.renderStream(REPLY, parsed);
    const silence = () => renderer.keepAlive(90_000);
    const frames = silence() + renderer.render(events) + silence();
    expectEvents(frames + renderer.finish(completion.finishReason, completion.usage));
  });

  testCases('any failing stream', COUNTS, streamEvents({ ...tools, ending: 'failure' }), (events) => {
    const renderer = adapter.renderStream(REPLY, parsed);
    expectEvents(renderer.render(events) + renderer.fail(new GatewayError('upstream_error', 'The model failed.')));
  });

  function expectEvents(stream: string): void {
    const data = stream
      .split('\n')
      .filter((line) => line.startsWith('data: '))
      .map((line) => line.slice('data: '.length))
      .map((json) => (json === '[DONE]' ? json : JSON.parse(json)));
    expect(data.length).toBeGreaterThan(0);
    for (const each of data) expect(schemas.component(event, each)).toEqual([]);
  }
});

test('the check fails for an unknown field, a missing one, and one of another type', () => {
  const list = { object: 'list', data: [{ object: 'model', id: 'a', created: 1, owned_by: 'b' }] };
  expect(schemas.component('ModelList', list)).toEqual([]);
  expect(schemas.component('ModelList', { ...list, more: 1 })).toEqual(['the value must NOT have additional properties']);
  expect(schemas.component('ModelList', { object: 'list' })).toEqual(["the value must have required property 'data'"]);
  expect(schemas.component('ModelList', { ...list, data: [{ ...list.data[0], id: 1 }] })).toEqual(['/data/0/id must be string']);
});

const REPLY: ReplyContext = { id: 'a1', requestId: 'req_a1', createdSeconds: 1_760_000_000, nowSeconds: () => 1_760_000_001, model: 'm' };
