import { isDeepStrictEqual } from 'node:util';
import { ERROR_CODES, GatewayError } from '#inference/errors.js';
import { damagedJson, damagedJsonBytes } from '#testing/damaged-json.js';
import { testCases } from '#testing/long-run.js';
import { parseJson } from '../../src/http/bodies/parse-json.js';
import type { ParsedRequest, ProtocolAdapter } from '../../src/protocols/protocol-adapter.js';

/** Limit of an error message: it quotes the request only in part. */
const MESSAGE_LENGTH_MAX = 1_000;

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
    if (naming !== undefined) expect(param).not.toBe('');
    JSON.parse(adapter.renderError(error, 'req_1'));
    return undefined;
  }
}
