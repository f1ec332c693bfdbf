import { CALLS } from './calls.js';

test.each(Object.entries(CALLS))('the call of %s names address, key and model', (_name, { text }) => {
  const call = text({ url: 'https://ai.example.com', key: 'tg_live_secret', model: 'sim-fast' });
  for (const part of ['https://ai.example.com', 'tg_live_secret', 'sim-fast']) expect(call).toContain(part);
});
