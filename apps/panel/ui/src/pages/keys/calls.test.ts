import { CALLS, gatewayUrl } from './calls.js';

test.each([
  ['http://127.0.0.1:8081/panel/', 'http://127.0.0.1:8080'],
  ['https://ai.example.com/panel/', 'https://ai.example.com'],
])('the panel at %s names the gateway %s', (panel, gateway) => {
  expect(gatewayUrl(new URL(panel))).toBe(gateway);
});

test.each(Object.entries(CALLS))('the call of %s names address, key and model', (_name, { text }) => {
  const call = text({ url: 'http://127.0.0.1:8080', key: 'tg_live_secret', model: 'sim-fast' });
  for (const part of ['http://127.0.0.1:8080', 'tg_live_secret', 'sim-fast']) expect(call).toContain(part);
});
