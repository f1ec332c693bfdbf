import { CALLS, type Call } from './calls.js';

const HELLO: Call = { url: 'https://ai.example.com', key: 'tg_live_secret', model: 'sim-fast' };

test.each(Object.entries(CALLS))('the call of %s names address, key and model', (_name, { text }) => {
  const call = text(HELLO);
  for (const part of ['https://ai.example.com', 'tg_live_secret', 'sim-fast']) expect(call).toContain(part);
});

test.each(Object.entries(CALLS))('the call of %s without a key reads the variable', (_name, { text }) => {
  expect(text({ ...HELLO, key: undefined })).toContain('TOLLGATE_KEY');
});

const CONVERSATION: Call = {
  ...HELLO,
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: `It's "fine",\nis it?` },
  ],
  maxTokens: 64,
  temperature: 0.5,
};

test('curl gets a body that the shell does not change', () => {
  const body = /-d '(.*)'$/s.exec(CALLS.curl.text(CONVERSATION))?.[1]?.replaceAll("'\\''", "'");
  expect(JSON.parse(body ?? '')).toEqual({ model: 'sim-fast', messages: CONVERSATION.messages, max_tokens: 64, temperature: 0.5 });
});

test('a script quotes texts, and each message has a line', () => {
  expect(CALLS.openai.text(CONVERSATION)).toContain(
    [
      "  model: 'sim-fast',",
      '  messages: [',
      "    { role: 'system', content: 'Be brief.' },",
      `    { role: 'user', content: 'It\\'s "fine",\\nis it?' },`,
      '  ],',
      '  max_tokens: 64,',
      '  temperature: 0.5,',
    ].join('\n'),
  );
});

test('Messages has the system text in a field of its own', () => {
  expect(CALLS.anthropic.text(CONVERSATION)).toContain(
    [
      '    max_tokens=64,',
      '    temperature=0.5,',
      '    system="Be brief.",',
      '    messages=[',
      `        {"role": "user", "content": "It's \\"fine\\",\\nis it?"},`,
      '    ],',
    ].join('\n'),
  );
});
