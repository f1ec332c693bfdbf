import { isDeepStrictEqual } from 'node:util';
import { ERROR_CODES, GatewayError } from '#inference/errors.js';
import { damagedJson, damagedJsonBytes } from '#testing/damaged-json.js';
import { testCases } from '#testing/long-run.js';
import { parseJson } from '../../src/http/bodies/parse-json.js';
import type { ParsedRequest, ProtocolAdapter } from '../../src/protocols/protocol-adapter.js';

/** Limits of an error message and its `param`: they quote the request only in part. */
const MESSAGE_LENGTH_MAX = 1_000;
const PARAM_LENGTH_MAX = 300;
/** The longest end that a word can get in JSON text. */
const LONG_END = '\u0001'.repeat(2_000);

/** Defines tests with damaged bodies: each is parsed, or refused with one message and no other error. */
export function describeDamagedBodies<Parsed extends ParsedRequest>(
  adapter: ProtocolAdapter<Parsed>,
  bodies: readonly object[],
  render: (parsed: Parsed) => void,
): void {
  testCases('a damaged body is parsed or refused', { usual: 1_500, long: 60_000 }, damagedJson(bodies), (body) => {
    const parsed = parsedOrRefused(adapter, () => throughText(body));
    if (parsed !== undefined) render(parsed);
  });

  testCases('damaged bytes of a body are parsed or refused', { usual: 500, long: 30_000 }, damagedJsonBytes(bodies), (bytes) => {
    parsedOrRefused(adapter, () => parseJson(bytes));
  });

  test('a long word of a body is quoted in part', () => {
    for (const body of bodies) for (const changed of withLongWords(body)) parsedOrRefused(adapter, () => changed);
  });
}

/** Returns copies of a body: each has one text or one name of a field with a long end. */
function* withLongWords(body: object): Generator<unknown> {
  for (let long = 0; ; long++) {
    let words = 0;
    const lengthen = (word: string): string => (words++ === long ? word + LONG_END : word);
    const text = JSON.stringify(body, (_, value: unknown) => {
      if (typeof value === 'string') return lengthen(value);
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
      return Object.fromEntries(Object.entries(value).map(([name, inner]) => [lengthen(name), inner]));
    });
    if (words <= long) return;
    yield JSON.parse(text);
  }
}

/** Passes a body through JSON text, which changes a negative zero. */
export function throughText(body: unknown): unknown {
  return JSON.parse(JSON.stringify(body) ?? 'null');
}

/** Returns the parsed request, or undefined when it was refused correctly. Rethrows any other error. */
export function parsedOrRefused<Parsed extends ParsedRequest>(
  adapter: ProtocolAdapter<Parsed>,
  read: () => unknown,
  naming?: 'names a field',
): Parsed | undefined {
  try {
    const parsed = adapter.parseRequest(read());
    const arrived = JSON.parse(JSON.stringify(parsed.request));
    if (!isDeepStrictEqual(arrived, parsed.request)) expect(arrived).toEqual(parsed.request);
    return parsed;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { code, status, message, param = '' } = error;
    expect([400, 413]).toContain(status);
    expect(status).toBe(ERROR_CODES[code].status);
    expect(message.length).toBeLessThan(MESSAGE_LENGTH_MAX);
    expect(param.length).toBeLessThan(PARAM_LENGTH_MAX);
    if (naming !== undefined) expect(param).not.toBe('');
    JSON.parse(adapter.renderError(error, 'req_1'));
    return undefined;
  }
}
