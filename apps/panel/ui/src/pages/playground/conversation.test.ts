import { ApiError } from '../../data/api.js';
import { Conversation, type ConversationCalls, composeMessages } from './conversation.js';
import { newTurn } from './turn.js';

const QUESTION = { text: 'Hello', projectId: 'web', model: 'sim-fast', system: 'Be brief.', maxTokens: 5, temperature: undefined };
const BILL = { heldPicoUsd: '9', settlement: { costPicoUsd: '3' } } as never;

const content = (text: string) => JSON.stringify({ choices: [{ delta: { content: text }, finish_reason: null }] });

/** A reply of these events, which then waits for an abort. */
function reply(events: string[], { staysOpen = false } = {}): ConversationCalls['open'] {
  return async (_projectId, _request, signal) => ({
    gatewayRequestId: 'req_1',
    events: (async function* () {
      for (const data of events) yield { name: 'message', data };
      signal.throwIfAborted();
      if (staysOpen) await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    })(),
  });
}

async function sent(open: ConversationCalls['open'], during: (conversation: Conversation) => void = () => undefined) {
  const conversation = new Conversation({ open, bill: async () => BILL });
  let heard = 0;
  conversation.subscribe(() => {
    heard += 1;
    if (conversation.turns[0]?.text !== '') during(conversation);
  });
  await conversation.send(QUESTION);
  const { id: _, firstContentMs: __, tookMs: ___, ...turn } = conversation.turns[0] ?? newTurn('', '');
  return { heard, turn };
}

const EXPECTED = {
  question: 'Hello',
  model: 'sim-fast',
  state: 'complete',
  text: 'Hi there',
  reasoning: '',
  finishReason: 'stop',
  requestId: 'req_1',
  failure: null,
  bill: BILL,
};

test('a reply grows with its events, and ends with its bill', async () => {
  const end = JSON.stringify({ choices: [{ delta: {}, finish_reason: 'stop' }] });
  const { turn, heard } = await sent(reply([content('Hi'), content(' there'), end, JSON.stringify({ choices: [], usage: {} }), '[DONE]']));
  expect(turn).toEqual(EXPECTED);
  expect(heard).toBeGreaterThan(5);
});

test('a stopped reply keeps its text and is billed', async () => {
  const { turn } = await sent(reply([content('Hi there')], { staysOpen: true }), (conversation) => conversation.stop());
  expect(turn).toEqual({ ...EXPECTED, state: 'stopped', finishReason: null });
});

const BROKEN = new ApiError('The reply broke off.', 'unavailable');
const FAILED = new ApiError('The model failed.', 'upstream_error');
test.each<[string, string[], ApiError]>([
  ['that breaks off', [content('Hi there')], BROKEN],
  ['with an error', [content('Hi there'), '{"error":{"message":"The model failed.","code":"upstream_error","param":null}}'], FAILED],
])('a reply %s has failed', async (_name, events, failure) => {
  const { turn } = await sent(reply(events));
  expect({ ...turn, failure: [turn.failure?.message, turn.failure?.code] }).toEqual({
    ...EXPECTED,
    state: 'failed',
    finishReason: null,
    failure: [failure.message, failure.code],
  });
});

test('a refusal of the gateway can be explained, one of the panel cannot', async () => {
  const ids = [];
  for (const isFromGateway of [true, false]) {
    const refusal = new ApiError('No.', 'rate_limit_exceeded', null, 'req_2', isFromGateway);
    ids.push((await sent(() => Promise.reject(refusal))).turn.requestId);
  }
  expect(ids).toEqual(['req_2', null]);
});

test('the model gets the system text and the whole conversation, without replies that have no text', () => {
  const [answered, failed] = [{ ...newTurn('one', 'm'), text: 'two' }, newTurn('three', 'm')];
  expect(composeMessages('', [answered, failed], 'four').map((message) => Object.values(message))).toEqual([
    ['user', 'one'],
    ['assistant', 'two'],
    ['user', 'three'],
    ['user', 'four'],
  ]);
  expect(composeMessages('Be brief.', [], 'one')[0]).toEqual({ role: 'system', content: 'Be brief.' });
});
