import { readFileSync } from 'node:fs';
import { readIds } from './insert-entry.js';

test('the ids of a list are read, and no others', () => {
  const yaml = readFileSync('config/catalog.yaml', 'utf8');
  expect([readIds(yaml, 'upstreams'), readIds(yaml, 'models'), readIds('', 'models')]).toEqual([
    ['local', 'standby'],
    ['sim-fast', 'sim-reason', 'sim-vision', 'sim-tiny', 'sim-embed'],
    [],
  ]);
});

test.each([
  ['without indentation', 'upstreams:\n- id: a # first\n- id: "b"\n'],
  ['with braces', "upstreams:\n  - { id: a, kind: gemini }\n  - {id: 'b'}\n"],
  ['below another field', 'upstreams:\n  - kind: gemini\n    id: a\n    body:\n      id: c\n  - id: b\n'],
])('ids %s are read', (_, yaml) => {
  expect(readIds(yaml, 'upstreams')).toEqual(['a', 'b']);
});
