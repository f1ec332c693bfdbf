import { GatewayError } from '#inference/errors.js';
import { ADAPTERS } from '../adapters.js';
import type { ProtocolName } from '../protocol-adapter.js';

/** A conversation: `a` a call of this id, `=a` its result, `user` and `model` messages of text. */
const BODIES: Record<ProtocolName, (steps: readonly string[]) => object> = {
  chat: (steps) => {
    const messages: { role: string; [field: string]: unknown }[] = [{ role: 'user', content: 'Hi' }];
    for (const step of steps) {
      const last = messages.at(-1);
      if (step === 'user') messages.push({ role: 'user', content: 'And?' });
      else if (step === 'model') messages.push({ role: 'assistant', content: 'Well.' });
      else if (step.startsWith('=')) messages.push({ role: 'tool', tool_call_id: step.slice(1), content: 'ok' });
      else {
        const call = { id: step, type: 'function', function: { name: 'f', arguments: '{}' } };
        if (last?.tool_calls) (last.tool_calls as object[]).push(call);
        else messages.push({ role: 'assistant', content: null, tool_calls: [call] });
      }
    }
    return { model: 'm', messages };
  },
  responses: (steps) => ({
    model: 'm',
    input: [{ role: 'user', content: 'Hi' }].concat(
      steps.map((step): never => {
        if (step === 'user') return { role: 'user', content: 'And?' } as never;
        if (step === 'model') return { role: 'assistant', content: 'Well.' } as never;
        if (step.startsWith('=')) return { type: 'function_call_output', call_id: step.slice(1), output: 'ok' } as never;
        return { type: 'function_call', call_id: step, name: 'f', arguments: '{}' } as never;
      }),
    ),
  }),
  messages: (steps) => ({
    model: 'm',
    max_tokens: 9,
    messages: [{ role: 'user', content: 'Hi' }].concat(
      steps.map((step): never => {
        if (step === 'user') return { role: 'user', content: 'And?' } as never;
        if (step === 'model') return { role: 'assistant', content: 'Well.' } as never;
        if (step.startsWith('='))
          return { role: 'user', content: [{ type: 'tool_result', tool_use_id: step.slice(1), content: 'ok' }] } as never;
        return { role: 'assistant', content: [{ type: 'tool_use', id: step, name: 'f', input: {} }] } as never;
      }),
    ),
  }),
};

/** Returns the field at fault; undefined when the conversation is accepted. */
function findFault(format: ProtocolName, steps: string): { code: string; param: string | undefined } | undefined {
  try {
    ADAPTERS[format].parseRequest(BODIES[format](steps.split(' ')));
    return undefined;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { code: error.code, param: error.param };
  }
}

const FORMATS = Object.keys(BODIES) as ProtocolName[];

describe.each(FORMATS)('%s accepts', (format) => {
  test.each([
    ['a call and its result', 'a =a user'],
    ['results in another order', 'a b =b =a model'],
    ['a call without a result at the end', 'a =a b'],
    ['a message between a call and its result', 'a user =a model'],
    ['an id that is used again after its result', 'a =a a =a model'],
  ])('%s', (_what, steps) => {
    expect(findFault(format, steps)).toBeUndefined();
  });
});

describe('a conversation whose calls and results do not match is refused, naming the field [T-54]', () => {
  test.each<[what: string, steps: string, params: Record<ProtocolName, string>]>([
    [
      'a result without a call',
      'user =a',
      { chat: 'messages[2].tool_call_id', responses: 'input[2].call_id', messages: 'messages[2].content[0].tool_use_id' },
    ],
    [
      'a result before its call',
      '=a a',
      { chat: 'messages[1].tool_call_id', responses: 'input[1].call_id', messages: 'messages[1].content[0].tool_use_id' },
    ],
    [
      'a second result of a call',
      'a =a =a',
      { chat: 'messages[3].tool_call_id', responses: 'input[3].call_id', messages: 'messages[3].content[0].tool_use_id' },
    ],
    [
      'a call without a result, followed by the user',
      'a b =b user',
      { chat: 'messages[1].tool_calls[0].id', responses: 'input[1].call_id', messages: 'messages[1].content[0].id' },
    ],
    [
      'a call without a result, followed by the next reply',
      'a b =a model',
      { chat: 'messages[1].tool_calls[1].id', responses: 'input[2].call_id', messages: 'messages[2].content[0].id' },
    ],
    [
      'two calls with one id',
      'a a =a',
      { chat: 'messages[1].tool_calls[1].id', responses: 'input[2].call_id', messages: 'messages[2].content[0].id' },
    ],
  ])('%s', (_what, steps, params) => {
    for (const format of FORMATS)
      expect([format, findFault(format, steps)]).toEqual([format, { code: 'invalid_request', param: params[format] }]);
  });
});

test('an output of a hosted tool of Responses is dropped with its call', () => {
  const input = [
    { role: 'user', content: 'Hi' },
    { type: 'local_shell_call', call_id: 'a', action: {} },
    { type: 'function_call_output', call_id: 'a', output: 'ok' },
  ];
  expect(ADAPTERS.responses.parseRequest({ model: 'm', input }).request.turns).toEqual([
    { role: 'user', parts: [{ type: 'text', text: 'Hi' }] },
  ]);
});
