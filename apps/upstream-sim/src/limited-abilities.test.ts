import type { ChatRequest } from './chat-request.js';
import { ignoreAbilities, refuseAbilities } from './limited-abilities.js';

const HELLO: ChatRequest = { model: 'sim-fast', messages: [{ role: 'user', content: 'Hello' }] };
const withMessages = (...messages: ChatRequest['messages']): ChatRequest => ({ ...HELLO, messages });
const IMAGE = { type: 'image_url' as const, image_url: { url: 'data:image/png;base64,AA==' } };
const call = (id: string, more: object = {}): ChatRequest['messages'][number] => ({
  role: 'assistant',
  tool_calls: [{ id, function: { name: 'a', arguments: '{}' } }],
  ...more,
});

test.each<[name: string, has: object, hasNot: object]>([
  ['seed', { ...HELLO, seed: 7 }, { ...HELLO, seed: null }],
  ['plain', HELLO, { ...HELLO, stream: true }],
  ['images', withMessages({ role: 'user', content: [IMAGE] }), withMessages({ role: 'user', content: [{ type: 'text', text: 'x' }] })],
  ['json-schema', { ...HELLO, response_format: { type: 'json_schema' } }, { ...HELLO, response_format: { type: 'json_object' } }],
  [
    'strict-tools',
    { ...HELLO, tools: [{ type: 'function', function: { name: 'a', strict: true } }] },
    { ...HELLO, tools: [{ name: 'a', strict: false }] },
  ],
  ['developer', withMessages({ role: 'developer', content: 'x' }), withMessages({ role: 'system', content: 'x' })],
  ['system', withMessages({ role: 'system', content: 'x' }), HELLO],
  [
    'late-system',
    withMessages({ role: 'user', content: 'x' }, { role: 'system', content: 'y' }),
    withMessages({ role: 'system', content: 'y' }, { role: 'user', content: 'x' }),
  ],
  [
    'same-role',
    withMessages({ role: 'user', content: 'x' }, { role: 'user', content: 'y' }),
    withMessages({ role: 'user', content: 'x' }, { role: 'assistant', content: 'y' }),
  ],
  ['same-role', withMessages({ role: 'assistant', content: 'x' }), HELLO],
  ['long-call-ids', withMessages(call('call_1')), withMessages(call('abcdefgh9'))],
  ['forced-choice', { ...HELLO, tool_choice: { type: 'function', function: { name: 'a' } } }, { ...HELLO, tool_choice: 'none' }],
  ['forced-choice', { ...HELLO, tool_choice: 'required' }, HELLO],
  ['no-instructions', HELLO, { ...HELLO, instructions: 'Be brief.' }],
  ['prompt-cache-key', { ...HELLO, prompt_cache_key: 'k' }, { ...HELLO, prompt_cache_key: null }],
  ['cache-salt', { ...HELLO, cache_salt: 's' }, { ...HELLO, cache_salt: null }],
  ['cache-control', { ...HELLO, cache_control: [{ index: 0, ttl: '5m' }] }, HELLO],
  ['no-echo', withMessages(call('a')), withMessages(call('a', { reasoning_content: 'because' }))],
])('refuses %s only in a request that uses it', (name, has, hasNot) => {
  const refuse = (body: object) => () => refuseAbilities(body as ChatRequest, JSON.stringify(body), `audio,${name}`);
  expect(refuse(has)).toThrow(`Unsupported parameter: '${name}' is not supported with this model.`);
  expect(refuse(hasNot)).not.toThrow();
});

test('removes ignored fields from the request', () => {
  const message = { role: 'user' as const, content: [{ type: 'text' as const, text: 'x' }, IMAGE] };
  expect(ignoreAbilities({ ...HELLO, messages: [message], stop: 'x', max_tokens: 3 }, 'stop,images')).toEqual({
    ...HELLO,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }] }],
    max_tokens: 3,
  });
});
