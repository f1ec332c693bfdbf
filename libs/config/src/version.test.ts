import { readFileSync } from 'node:fs';
import { oldNode } from './version.js';

const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as { engines: { node: string } };
const needed = Number(/\d+/.exec(engines.node)?.[0]);

test.each([
  [`${needed - 1}.99.0`, `Tollgate needs Node ${needed}; this is Node ${needed - 1}.99.0`],
  [`${needed}.0.0`, undefined],
  [`${needed + 1}.2.3`, undefined],
])('Node %s', (version, expected) => {
  expect(oldNode(version)).toBe(expected);
});
