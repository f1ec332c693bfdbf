import fc from 'fast-check';
import { WireNames } from './wire-names.js';

test('a safe name is kept, and a call in the history gets the name of its declaration', () => {
  const names = new WireNames();
  expect(names.nameFor({ name: 'get_weather-2' })).toBe('get_weather-2');
  expect(names.nameFor({ name: 'get_weather-2' })).toBe('get_weather-2');
});

test('an unsafe name keeps its readable part, and gets the same name in the next request', () => {
  const first = new WireNames();
  const second = new WireNames();
  second.nameFor({ name: 'other.tool' });
  const name = first.nameFor({ name: 'mcp.weather/get' });
  expect(name).toMatch(/^mcp_weather_get_[0-9a-f]{10}$/);
  expect(second.nameFor({ name: 'mcp.weather/get' })).toBe(name);
});

test('the same name in two namespaces gets two names [T-6]', () => {
  const names = new WireNames();
  const both = [names.nameFor({ namespace: 'a', name: 'close' }), names.nameFor({ namespace: 'b', name: 'close' })];
  expect(both).toEqual(['close', expect.stringMatching(/^close_[0-9a-f]{10}$/)]);
});

test('names are safe, unique and stable within a request', () => {
  const key = fc.record({
    name: fc.string({ minLength: 1, maxLength: 80, unit: 'binary' }),
    namespace: fc.option(fc.string(), { nil: undefined }),
  });
  const keys = fc.uniqueArray(key, { selector: ({ name, namespace }) => JSON.stringify([name, namespace ?? null]) });
  fc.assert(
    fc.property(keys, (keys) => {
      const names = new WireNames();
      const given = keys.map((key) => names.nameFor(key));
      for (const name of given) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      expect(new Set(given).size).toBe(keys.length);
      expect(keys.map((key) => names.nameFor(key))).toEqual(given);
    }),
  );
});

test('a generated name is not given to a tool that really has it', () => {
  const made = new WireNames().nameFor({ name: 'a b' });
  const names = new WireNames();
  names.nameFor({ name: 'a b' });
  expect(names.nameFor({ name: made })).not.toBe(made);
});
