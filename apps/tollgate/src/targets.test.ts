import { ConfigError } from '#config/load-config.js';
import { readTargets, STOP_ORDER, targetEnvironment } from './targets.js';

test('all targets run unless some are named', () => {
  const all = ['gateway', 'panel', 'inference-proxy', 'billing', 'catalog'];
  expect([readTargets([]), readTargets(['--target=all']), readTargets(['--target=catalog,billing'])]).toEqual([
    all,
    all,
    ['billing', 'catalog'],
  ]);
  expect(STOP_ORDER.flat().toSorted()).toEqual(all.toSorted());
});

test.each(['biling', 'billing,', '', 'toString'])('the target "%s" is refused', (given) => {
  expect(() => readTargets([`--target=${given}`])).toThrow(ConfigError);
});

test('a variable with the name of a target is for that target alone, and comes first', () => {
  const environment = {
    NATS_URL: 'nats://n',
    DATABASE_URL: 'postgres://all',
    INFERENCE_PROXY_NATS_PASSWORD: 'secret',
    BILLING_DATABASE_URL: 'postgres://b',
  };
  const read = (name: Parameters<typeof targetEnvironment>[0]) => {
    const { NATS_URL, NATS_USER, NATS_PASSWORD, DATABASE_URL } = targetEnvironment(name, environment);
    return [NATS_URL, NATS_USER, NATS_PASSWORD, DATABASE_URL];
  };
  expect([read('billing'), read('inference-proxy')]).toEqual([
    ['nats://n', 'billing', undefined, 'postgres://b'],
    ['nats://n', 'inference-proxy', 'secret', 'postgres://all'],
  ]);
});
