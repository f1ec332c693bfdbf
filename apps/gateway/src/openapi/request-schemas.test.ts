import { join } from 'node:path';
import fc from 'fast-check';
import { GatewayError } from '#inference/errors.js';
import { DocumentSchemas } from '#testing/document-schemas.js';
import { testCases } from '#testing/long-run.js';
import { replaceValue, valuesWithin } from '#testing/replace-value.js';
import { findBody, type Refusal, readJson, readRequests } from '../../test/conformance/conformance-fixtures.js';
import { ADAPTERS } from '../protocols/adapters.js';
import { parseCountRequest } from '../protocols/messages/request.js';
import type { ProtocolAdapter, ProtocolName } from '../protocols/protocol-adapter.js';
import { openApiDocument } from './document.js';

/**
 * Reasons for which a parser may refuse a body that its schema accepts: they are not about shape. Otherwise schema and parser must agree
 * about every body.
 */
const BEYOND_SHAPE = [
  /^(image_url_not_supported|unsupported_content|request_too_large): /, // content of an image
  /is not valid base64|must be a base64 data URL/,
  /is declared twice|must be the name of one of `tools`|requires a call, but there is no/, // several fields together
  /is only valid when `stream` is true|differs from `max_tokens`/,
  /no result yet|a tool call without one is followed by another turn/, // several turns together
  /must have at least one message/, // all items were dropped
  /is not supported: send the conversation as messages/, // an unknown item with a text
  /`(functions|function_call|audio|logprobs|top_logprobs|thread|logit_bias)` is not supported|`modalities` must not include audio/, // described in words
  /`(guided_json|json_schema|structured_outputs\.json)` must be a JSON Schema|says the same as/, // likewise
  /`(guided_\w+|regex|ebnf|grammar|structural_tag|structured_outputs\.\w+|chat_template_kwargs\.[\s\S]*|continue_final_message)` is not/,
  /nested too deeply/,
];

/** Hints that parsers ignore when they have another type. */
const TOLERATED: Record<string, string[]> = {
  chat: ['seed', 'presence_penalty', 'frequency_penalty', 'reasoning_effort', 'parallel_tool_calls', 'reasoning_content'],
};

const schemas = new DocumentSchemas(openApiDocument());
const PROTOCOLS = join(import.meta.dirname, '../protocols');

interface Parsed {
  tools: readonly unknown[];
}

/** The component that describes a format's bodies. */
const COMPONENTS: Record<ProtocolName, string> = { chat: 'ChatRequest', responses: 'ResponsesRequest', messages: 'MessagesRequest' };

describe.each([
  ...Object.values<ProtocolAdapter>(ADAPTERS).map((adapter) => ({
    format: adapter.name,
    component: COMPONENTS[adapter.name],
    parse: (body: unknown): Parsed => adapter.parseRequest(body).request,
  })),
  { format: 'messages', component: 'CountTokensRequest', parse: (body: unknown): Parsed => parseCountRequest(body) },
])('$component', ({ format, component, parse }) => {
  const fixtures = join(PROTOCOLS, format, '__fixtures__');
  const requests = readRequests(fixtures);
  const bodies = requests.map(({ body }) => body);
  const refused = readJson<Refusal[]>(join(fixtures, 'refusals.json')).map(({ change }) => ({
    ...findBody(requests, 'minimal'),
    ...change,
  }));

  test('accepts every body of the fixtures', () => {
    expect(bodies.length).toBeGreaterThan(15);
    for (const body of bodies) expect(schemas.component(component, withoutTolerated(body))).toEqual([]);
  });

  test('agrees with the parser about every refused body of the fixtures', () => {
    for (const body of refused) agree(body);
  });

  const parts = [...bodies, ...refused].flatMap(valuesWithin);
  const strange = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom(null, '', 'text', 0, -1, 1.5, true, [], {}, [null], [{}]));
  const replacement = fc.oneof(strange, fc.constantFrom(...parts), fc.constant(undefined));
  const changed = fc
    .tuple(fc.constantFrom(...bodies), fc.array(fc.tuple(fc.nat(), replacement), { minLength: 1, maxLength: 2 }))
    // Through JSON text, as bodies arrive.
    .map(([body, changes]) =>
      JSON.parse(JSON.stringify(changes.reduce<unknown>((whole, [place, value]) => replaceValue(whole, place, value), body))),
    );

  testCases(
    `${component} agrees with the parser about any body with a value replaced, removed or moved`,
    { usual: 1_500, long: 50_000 },
    changed,
    agree,
  );

  function agree(body: unknown): void {
    const { parsed, refusal } = catchOutcome(() => parse(body));
    const faults = schemas.component(component, parsed === undefined ? body : withoutTolerated(body));
    const isBeyondShape = refusal !== undefined && BEYOND_SHAPE.some((reason) => reason.test(refusal));
    if (refusal === undefined) expect({ body, faults }).toEqual({ body, faults: [] });
    else if (!isBeyondShape && faults.length === 0) expect({ body, refusal }).toEqual({ body, refusal: undefined });
  }

  /** Removes the fields that the parser ignores. */
  function withoutTolerated(body: unknown): unknown {
    const fields = TOLERATED[format] ?? [];
    return JSON.parse(JSON.stringify(body), (key, value) => (fields.includes(key) ? undefined : value));
  }
});

function catchOutcome(parse: () => Parsed): { parsed?: Parsed; refusal?: string } {
  try {
    return { parsed: parse() };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { refusal: `${error.code}: ${error.message}` };
  }
}
