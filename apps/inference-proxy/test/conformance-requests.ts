import fc from 'fast-check';
import type { UpstreamCapabilities } from '#contracts/catalog.js';
import type { InferenceRequest } from '#inference/request.js';
import { inferenceRequests } from '#testing/inference-requests.js';
import { testCases } from '#testing/long-run.js';
import type { UpstreamAdapter } from '../src/upstreams/upstream-adapter.js';
import { makeCall, sent } from './conformance.js';

/** Tests that any request renders, with every tool result at its call. */
export function describeAnyRequest(adapter: UpstreamAdapter): void {
  testCases(
    `${adapter.kind}: any request is rendered, with every result at its call [T-10]`,
    { usual: 300, long: 20_000 },
    fc.tuple(inferenceRequests(), capabilities),
    ([request, able]) => {
      const body = sent(adapter.renderRequest(makeCall(request.stream, request, able), 'key'));
      const wire = wireCalls(body);
      // Converse takes calls only in a request with tools; in others they are text.
      const isTold = adapter.kind === 'bedrock-converse' && body.toolConfig === undefined;
      const { calls, results } = isTold ? { calls: [], results: [] } : canonicalCalls(request);
      expect([wire.calls.length, new Set(wire.calls).size]).toEqual([calls.length, calls.length]);
      const wireIds = new Map(calls.map((id, index) => [id, wire.calls[index]]));
      expect(wire.results).toEqual(results.map((id) => wireIds.get(id)));
    },
  );
}

const capabilities: fc.Arbitrary<Partial<UpstreamCapabilities>> = fc.record({
  jsonSchema: fc.boolean(),
  strictTools: fc.boolean(),
  developerRole: fc.boolean(),
  systemMessages: fc.constantFrom('anywhere', 'first', 'none'),
  alternatingRoles: fc.boolean(),
  nineCharacterCallIds: fc.boolean(),
  reasoningEcho: fc.boolean(),
  stop: fc.boolean(),
});

interface Calls {
  calls: unknown[];
  results: unknown[];
}

function canonicalCalls({ turns }: InferenceRequest): Calls {
  const calls = turns.flatMap((turn) => (turn.role === 'assistant' ? turn.parts.filter((part) => part.type === 'tool-call') : []));
  const results = turns.flatMap((turn) => (turn.role === 'tool' ? turn.results : []));
  return { calls: calls.map(({ callId }) => callId), results: results.map(({ callId }) => callId) };
}

type Fields = Record<string, unknown>;

/** Returns the ids in the order of a body, in any dialect. */
function wireCalls(body: { messages?: Fields[]; input?: Fields[]; contents?: Fields[] }): Calls {
  const items = [...(body.messages ?? []), ...(body.input ?? []), ...(body.contents ?? [])].flatMap((item) => [
    item,
    ...(Array.isArray(item.parts) ? item.parts : []),
    ...(Array.isArray(item.content) ? item.content : []),
    ...(Array.isArray(item.tool_calls) ? item.tool_calls : []),
  ]) as Fields[];
  const calls = items.flatMap((item) => {
    if (item.toolUse !== undefined) return [(item.toolUse as Fields).toolUseId];
    if (item.functionCall !== undefined) return [(item.functionCall as Fields).id];
    if (item.type === 'tool_use' || (item.type === 'function' && item.function !== undefined)) return [item.id];
    return item.type === 'function_call' || item.type === 'custom_tool_call' ? [item.call_id] : [];
  });
  const results = items.flatMap((item) => {
    if (item.toolResult !== undefined) return [(item.toolResult as Fields).toolUseId];
    if (item.functionResponse !== undefined) return [(item.functionResponse as Fields).id];
    if (item.role === 'tool') return [item.tool_call_id];
    if (item.type === 'tool_result') return [item.tool_use_id];
    return /_call_output$/.test(String(item.type)) ? [item.call_id] : [];
  });
  return { calls, results };
}
