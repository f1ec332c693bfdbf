import { ADAPTERS } from '../adapters.js';
import type { ProtocolName } from '../protocol-adapter.js';

const messages = [{ role: 'user', content: 'Hi' }];
const BODIES = {
  chat: { model: 'm', messages },
  responses: { model: 'm', input: 'Hi' },
  messages: { model: 'm', max_tokens: 1, messages },
} satisfies Record<ProtocolName, object>;

test.each<[title: string, format: ProtocolName, temperatureMax: number]>([
  ['chat [chat-temperature, chat-top-p, limit-temperature]', 'chat', 2],
  ['responses [responses-temperature-top-p]', 'responses', 2],
  ['messages [messages-temperature, messages-top-p, limit-temperature]', 'messages', 1],
])('the bounds of temperature and top_p are accepted and reach the model: %s', (_title, format, temperatureMax) => {
  const sampling = (temperature: number, top_p: number) => {
    const { request } = ADAPTERS[format].parseRequest({ ...BODIES[format], temperature, top_p });
    return [request.temperature, request.topP];
  };
  expect([sampling(0, 0), sampling(temperatureMax, 1)]).toEqual([
    [0, 0],
    [temperatureMax, 1],
  ]);
});
