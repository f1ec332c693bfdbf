import { IsBoolean, IsInt, IsString, Min, MinLength } from 'class-validator';
import { ConfigError, environmentIn, loadConfig, loadNamedConfigs } from './load-config.js';

class ExampleConfig {
  @IsString() @MinLength(1) natsUrl = '';
  @IsInt() @Min(1) leaseMs = 60_000;
  @IsBoolean() verbose = false;
}

test('reads each property from its variable; unset and empty variables keep the default', () => {
  const config = loadConfig(ExampleConfig, { NATS_URL: 'nats://localhost:4222', LEASE_MS: '', VERBOSE: 'true' });
  expect({ ...config }).toEqual({ natsUrl: 'nats://localhost:4222', leaseMs: 60_000, verbose: true });
});

test('names every faulty variable without its value', () => {
  const load = () => loadConfig(ExampleConfig, { LEASE_MS: 'secret', VERBOSE: 'secret' });
  expect(load).toThrow(ConfigError);
  expect(load).toThrow(/^NATS_URL: .*\nLEASE_MS: .*\nVERBOSE: .*$/);
  expect(load).not.toThrow(/secret/);
});

test('reads settings that are given several times by name', () => {
  const configs = loadNamedConfigs(ExampleConfig, 'QUEUE_', {
    QUEUE_A_NATS_URL: 'nats://a',
    QUEUE_B2_NATS_URL: 'nats://b',
    QUEUE_B2_LEASE_MS: '5',
    QUEUE_C_NATS_URL: '',
    OTHER: 'x',
  });
  expect([...configs].map(([name, config]) => [name, { ...config }])).toEqual([
    ['a', { natsUrl: 'nats://a', leaseMs: 60_000, verbose: false }],
    ['b2', { natsUrl: 'nats://b', leaseMs: 5, verbose: false }],
  ]);
});

test.each([
  [{ QUEUE_A_NATS_ULR: 'secret' }, 'QUEUE_A_NATS_ULR: there is no such setting'],
  [{ QUEUE_LEASE: 'secret' }, 'QUEUE_LEASE: there is no such setting'],
  [{ QUEUE_A_LEASE_MS: 'secret' }, 'QUEUE_A_NATS_URL: '],
])('the variables %j are refused with their name', (variables, message) => {
  const load = () => loadNamedConfigs(ExampleConfig, 'QUEUE_', variables);
  expect(load).toThrow(message);
  expect(load).not.toThrow(/secret/);
});

test('a variable with the name of a service is for that service alone, and comes first', () => {
  const environment = {
    NATS_URL: 'nats://n',
    DATABASE_URL: 'postgres://all',
    INFERENCE_PROXY_NATS_PASSWORD: 'secret',
    BILLING_DATABASE_URL: 'postgres://b',
  };
  const read = (name: string) => {
    const { NATS_URL, NATS_USER, NATS_PASSWORD, DATABASE_URL } = environmentIn(name, environment);
    return [NATS_URL, NATS_USER, NATS_PASSWORD, DATABASE_URL];
  };
  expect([read('billing'), read('inference-proxy')]).toEqual([
    ['nats://n', 'billing', undefined, 'postgres://b'],
    ['nats://n', 'inference-proxy', 'secret', 'postgres://all'],
  ]);
});
