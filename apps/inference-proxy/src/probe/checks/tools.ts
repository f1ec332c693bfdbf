import type { UpstreamCapabilities } from '#contracts/catalog.js';
import type { CompletedToolCall } from '#inference/completion.js';
import type { Tool } from '#inference/tool.js';
import type { Turn } from '#inference/turn.js';
import { isObject, parseJson } from '../../upstreams/replies/json-object.js';
import { type Finding, judgeFailure, type ProbeResult } from '../probe-result.js';
import { type Check, count, no, says, unclear, yes } from './check.js';

const WEATHER = toolNamed('get_weather', 'Tells the weather of a city.');
const TIME = toolNamed('get_time', 'Tells the time of day in a city.');
const ASK_ONE = 'What is the weather in Paris? Call get_weather to find out.';
const ASK_TWO = 'What are the weather and the time in Paris? Call get_weather and call get_time, both at once.';

/** The others are skipped when the first finds that tools are refused. */
export const toolChecks: Check[] = [
  {
    id: 'tools',
    title: 'calls tools',
    async run(prober, notes) {
      const result = await prober.send({ turns: ASK_ONE, tools: [WEATHER] });
      const finding = judgeCall(result);
      notes.refusesTools = finding.verdict === 'no' && result.failure !== undefined;
      notes.callsTools = finding.verdict === 'yes';
      return finding;
    },
  },
  withTools('tools-stream', 'calls tools in a stream', async (prober) =>
    judgeCall(await prober.send({ turns: ASK_ONE, tools: [WEATHER], stream: true })),
  ),
  withTools('tools-parallel', 'calls tools in parallel', async (prober) =>
    judgeParallel(await prober.send({ turns: ASK_TWO, tools: [WEATHER, TIME] })),
  ),
  {
    ...withTools('parallel-tool-calls', 'takes parallel_tool_calls', async (prober) => {
      const [capabilities, hints] = [{ parallelToolCalls: true }, { parallelToolCalls: false }];
      return judgeParallelField(await prober.send({ turns: ASK_TWO, tools: [WEATHER, TIME], hints, capabilities }));
    }),
  },
  withTools('tool-choice', 'calls the tool it must', async (prober, { callsTools }) => {
    const toolChoice = { kind: 'tool', wireName: WEATHER.wireName } as const;
    const capabilities = { toolChoice: 'forced' as const };
    const result = await prober.send({ turns: 'Say hello.', tools: [WEATHER, TIME], toolChoice, capabilities });
    return judgeForced(result, WEATHER.wireName, callsTools === true);
  }),
  withTools('tool-choice-none', 'calls no tool when it must not', async (prober) => {
    const { toolChoice: strongest } = prober.capabilities;
    const capabilities = { toolChoice: 'none' as const };
    return judgeNone(await prober.send({ turns: ASK_ONE, tools: [WEATHER], toolChoice: { kind: 'none' }, capabilities }), strongest);
  }),
  withTools('strict-tools', 'takes strict tools', async (prober) =>
    judgeStrict(await prober.send({ turns: ASK_ONE, tools: [{ ...WEATHER, strict: true }], capabilities: { strictTools: true } })),
  ),
  withTools('tool-results', 'continues from tool results', continuesFromResults),
];

function withTools(id: string, title: string, run: Check['run']): Check {
  return { id, title, run: async (prober, notes) => (notes.refusesTools ? 'it does not take tools' : run(prober, notes)) };
}

function toolNamed(name: string, description: string): Tool {
  const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false };
  return { key: { name }, wireName: name, kind: 'function', description, parameters };
}

export function judgeCall({ failure, toolCalls, finishReason }: ProbeResult): Finding {
  if (failure !== undefined) return judgeFailure(failure);
  const [call] = toolCalls;
  if (call === undefined) return no(`answers in words (finish ${finishReason})`);
  return hasCity(call)
    ? yes(`${call.tool.name} with its arguments, finish ${finishReason}`)
    : no('a call whose arguments do not fit the tool');
}

export function judgeParallel({ failure, toolCalls }: ProbeResult): Finding {
  if (failure !== undefined) return judgeFailure(failure);
  if (toolCalls.length > 1) return yes(`${count(toolCalls.length, 'call')} in one reply`);
  return no(toolCalls.length === 1 ? 'one call at a time' : 'answers in words');
}

/** A refusal means that `strict` is not accepted; an answer in words proves nothing. */
export function judgeStrict(result: ProbeResult): Finding {
  if (result.failure !== undefined) return judgeFailure(result.failure, { strictTools: false });
  const finding = judgeCall(result);
  return finding.verdict === 'yes' ? { ...finding, learned: { strictTools: true } } : finding;
}

/** Judges a request that asks for two calls and allows one. */
export function judgeParallelField({ failure, toolCalls }: ProbeResult): Finding {
  if (failure !== undefined) return judgeFailure(failure, { parallelToolCalls: false });
  if (toolCalls.length > 1) return no(`taken, and ${toolCalls.length} calls made all the same`);
  if (toolCalls.length === 0) return unclear('not refused; it answers in words');
  return yes('taken, and one call made', { parallelToolCalls: true });
}

/** `callsTools`: it can call tools, so that words show that it ignores the choice. */
export function judgeForced({ failure, toolCalls }: ProbeResult, name: string, callsTools: boolean): Finding {
  const learned = callsTools ? ({ toolChoice: 'none' } as const) : undefined;
  if (failure !== undefined) return judgeFailure(failure, learned);
  if (toolCalls.length === 0) return no('answers in words although it must call a tool', learned);
  return toolCalls.every(({ tool }) => tool.name === name) ? yes(name, { toolChoice: 'forced' }) : no('calls another tool', learned);
}

/** `strongest`: where it obeys a choice that forces a call, it keeps that. */
export function judgeNone({ failure, toolCalls }: ProbeResult, strongest: UpstreamCapabilities['toolChoice']): Finding {
  const isForced = strongest === 'forced';
  const unheeded = isForced ? undefined : ({ toolChoice: 'auto' } as const);
  if (failure !== undefined) return judgeFailure(failure, unheeded);
  if (toolCalls.length > 0) return no('calls one all the same', unheeded);
  return yes('answers in words', isForced ? undefined : { toolChoice: 'none' });
}

function hasCity({ argumentsText }: CompletedToolCall): boolean {
  const value = parseJson(argumentsText);
  return isObject(value) && typeof value.city === 'string';
}

/** Capabilities that a server may require of a conversation with calls; each is tried alone. */
const VARIANTS: [Partial<UpstreamCapabilities>, string][] = [
  [{ nineCharacterCallIds: true }, 'wants ids of calls of nine letters and digits'],
  [{ reasoningEcho: true }, 'wants the reasoning back that led to the call'],
];

async function continuesFromResults(prober: Parameters<Check['run']>[0]): Promise<Finding> {
  const turns = [says('user', ASK_ONE), called(CALL_ID, WEATHER.wireName), answered(CALL_ID, 'Sunny, 21 degrees')];
  const result = await prober.send({ turns, tools: [WEATHER] });
  if (result.failure?.kind === 'rejected') {
    for (const [capabilities, evidence] of VARIANTS) {
      const other = await prober.send({ turns, tools: [WEATHER], capabilities });
      if (other.failure === undefined) return yes(evidence, capabilities);
    }
  }
  return judgeResults(result);
}

/** Accepted by nearly every server. A refusal shows that the server wants shorter ids. */
const CALL_ID = 'call_0a1b2c3d4e5f';

function called(callId: string, wireName: string): Turn {
  return {
    role: 'assistant',
    parts: [
      { type: 'reasoning', text: 'I need the weather.' },
      { type: 'tool-call', kind: 'function', callId, tool: { name: wireName }, wireName, argumentsText: '{"city":"Paris"}' },
    ],
  };
}

function answered(callId: string, text: string): Turn {
  return { role: 'tool', results: [{ callId, parts: [{ type: 'text', text }] }] };
}

export function judgeResults({ failure, text, toolCalls }: ProbeResult): Finding {
  if (failure !== undefined) return judgeFailure(failure);
  if (/sunny|21/i.test(text)) return yes('its answer has the result in it');
  return unclear(toolCalls.length > 0 ? 'it calls the tool again' : 'taken; its answer does not have the result in it');
}
