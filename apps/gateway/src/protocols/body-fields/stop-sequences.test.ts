import { ADAPTERS } from '../adapters.js';

const prompt = { model: 'a', messages: [{ role: 'user', content: 'Hi' }] };
const chat = (stop: unknown) => ADAPTERS.chat.parseRequest({ ...prompt, stop }).request.stop;
const messages = (stop: unknown) => ADAPTERS.messages.parseRequest({ ...prompt, max_tokens: 1, stop_sequences: stop }).request.stop;

describe.each(['x', '🙂'])('of %s', (character) => {
  const longest = character.repeat(1_024);
  const tooLong = character.repeat(1_025);

  test('a sequence of 1,024 characters is accepted', () => {
    expect([chat(longest), chat(['END', longest]), messages(['END', longest])]).toEqual([[longest], ['END', longest], ['END', longest]]);
  });

  test.each<[string, () => unknown]>([
    ['stop', () => chat(tooLong)],
    ['stop[1]', () => chat(['END', tooLong])],
    ['stop_sequences[1]', () => messages(['END', tooLong])],
  ])('a longer one is refused: %s', (param, parse) => {
    const message = `\`${param}\` must have at most 1024 characters.`;
    expect(parse).toThrow(expect.objectContaining({ code: 'invalid_request', message, param }));
  });
});
