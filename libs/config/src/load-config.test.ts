import { IsBoolean, IsInt, IsString, Min, MinLength } from 'class-validator';
import { ConfigError, loadConfig } from './load-config.js';

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
