import { ConfigError } from '#config/load-config.js';
import { readTargets, STOP_ORDER } from './targets.js';

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
