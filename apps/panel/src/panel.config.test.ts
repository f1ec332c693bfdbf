import { loadConfig } from '#config/load-config.js';
import { PanelConfig } from './panel.config.js';

const REQUIRED = { NATS_USER: 'panel', NATS_PASSWORD: 'x', DATABASE_URL: 'postgres://localhost/tollgate' };

test.each(['http://127.0.0.1:8080', 'https://ai.example.com', 'https://example.com/gateway'])('%s is an address of a gateway', (url) => {
  expect(loadConfig(PanelConfig, { ...REQUIRED, GATEWAY_URL: url }).gatewayUrl).toBe(url);
});

test.each(['ai.example.com', 'https://', 'https://ai.example.com/', 'https://ai.example.com/v1', 'https://ai.example.com?x', 'ftp://x'])(
  '%s is no address of a gateway',
  (url) => {
    expect(() => loadConfig(PanelConfig, { ...REQUIRED, GATEWAY_URL: url })).toThrow(/^GATEWAY_URL: must be an address such as/);
  },
);

test.each([
  [{}, 'https://ai.example.com'],
  [{ GATEWAY_INTERNAL_URL: 'http://gateway' }, 'http://gateway'],
])('the panel itself reaches the gateway: %j', (settings, url) => {
  expect(loadConfig(PanelConfig, { ...REQUIRED, GATEWAY_URL: 'https://ai.example.com', ...settings }).ownGatewayUrl).toBe(url);
});

test('an address for the panel itself follows the same rule', () => {
  expect(() => loadConfig(PanelConfig, { ...REQUIRED, GATEWAY_INTERNAL_URL: 'gateway' })).toThrow(
    /^GATEWAY_INTERNAL_URL: must be an address/,
  );
});

test.each([
  ['none', true],
  ['https://traces.example.com/trace/{traceId}', true],
  ['http://127.0.0.1:3000/explore?a=%22{traceId}%22', true],
  ['https://traces.example.com/trace', false],
  ['javascript:alert("{traceId}")', false],
])('TRACE_URL %s is the address of a trace: %s', (url, isOne) => {
  const load = () => loadConfig(PanelConfig, { ...REQUIRED, TRACE_URL: url }).traceUrl;
  if (isOne) expect(load()).toBe(url);
  else expect(load).toThrow(/^TRACE_URL: must be an address with \{traceId\}/);
});
