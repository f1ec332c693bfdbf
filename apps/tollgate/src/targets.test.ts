import { ConfigError } from '#config/load-config.js';
import { readTargets, STOP_ORDER } from './targets.js';

test('all targets but payments run unless some are named', () => {
  const all = ['gateway', 'panel', 'inference-proxy', 'billing', 'catalog'];
  const given = [[], ['--target=all'], ['--target=catalog,billing'], ['--target=payments,all']];
  expect(given.map(readTargets)).toEqual([all, all, ['billing', 'catalog'], [...all, 'payments']]);
  expect(STOP_ORDER.flat().toSorted()).toEqual([...all, 'payments'].toSorted());
});

test.each(['biling', 'billing,', '', 'toString'])('the target "%s" is refused', (given) => {
  expect(() => readTargets([`--target=${given}`])).toThrow(ConfigError);
});
