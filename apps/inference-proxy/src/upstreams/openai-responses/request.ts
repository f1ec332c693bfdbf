import type { UpstreamCapabilities } from '#contracts/catalog.js';
import type { Hints, InferenceRequest, OutputFormat } from '#inference/request.js';
import type { Tool, ToolChoice } from '#inference/tool.js';
import type { AssistantTurn, ImagePart, SystemTurn, TextPart, ToolTurn, Turn } from '#inference/turn.js';
import { findMissingCap, OutputCap } from '../replies/output-cap.js';
import { arrangeTurns, NO_MESSAGE } from '../requests/arrange-turns.js';
import { asFunction, describeWithGrammar } from '../requests/as-function.js';
import { renderCacheKey } from '../requests/cache-key.js';
import { parseArguments } from '../requests/call-arguments.js';
import { instructOutput } from '../requests/instruct-output.js';
import { countLeadingSystemTurns } from '../requests/leading-system-turns.js';
import { isStrictSchema } from '../requests/strict-schema.js';
import { withholdsTools } from '../requests/tool-choice.js';
import type { RenderedRequest, UpstreamCall } from '../upstream-adapter.js';
import { renderCallId } from './call-id.js';

/** Stands for the instructions that an upstream requires and the client did not send: a few tokens, as any chat template adds. */
const NO_INSTRUCTIONS = 'Answer the user.';

/** Lowest output cap that the dialect accepts. */
const OUTPUT_TOKENS_MIN = 16;

/**
 * Renders the whole request without stored state: items have no ids that would refer to earlier responses. The dialect has no stop
 * sequences, seed or penalties; names of speakers and end users are not sent.
 */
export function renderRequest(call: UpstreamCall, apiKey: string | undefined): RenderedRequest {
  const { request, model, stream, capabilities } = call;
  const customCalls = customCallIds(request.turns);
  const turns = arrangeTurns(instructOutput(request, capabilities), capabilities);
  const instructing = capabilities.instructions ? leadingSystemTurns(turns) : undefined;
  const input = turns.slice(instructing?.length ?? 0).flatMap((turn) => renderTurn(turn, customCalls, capabilities));
  const body = {
    model,
    instructions: instructing && renderInstructions(instructing),
    input: input.length > 0 ? input : [{ role: 'user', content: NO_MESSAGE }],
    max_output_tokens: capabilities.outputCap === false ? undefined : Math.max(call.outputTokensMax, OUTPUT_TOKENS_MIN),
    temperature: capabilities.temperature === false ? undefined : request.temperature,
    top_p: capabilities.topP === false ? undefined : request.topP,
    ...renderTools(request, capabilities),
    text: renderOutput(request.output, capabilities),
    reasoning: renderReasoning(request.hints, capabilities),
    ...renderCacheKey(call, 'prompt_cache_key', apiKey),
    store: false,
    stream,
  };
  return {
    path: 'responses',
    headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
    body,
  };
}

function renderReasoning({ reasoningOff, reasoningEffort }: Hints, capabilities: UpstreamCapabilities): Item | undefined {
  if (reasoningOff && capabilities.reasoningSwitch === 'reasoning_effort') return { effort: 'none' };
  return capabilities.reasoningSummary ? { effort: reasoningEffort, summary: 'auto' } : undefined;
}

/** Returns what enforces the client's cap when the upstream takes none, or it is below the lowest of the dialect; otherwise undefined. */
export function findEnforcedCap(call: UpstreamCall): OutputCap | undefined {
  return call.outputTokensMax < OUTPUT_TOKENS_MIN ? new OutputCap(call.outputTokensMax) : findMissingCap(call);
}

type Item = Record<string, unknown>;

function renderInstructions(turns: readonly SystemTurn[]): string {
  const text = joinTexts(turns.flatMap(({ parts }) => parts));
  return text.trim() === '' ? NO_INSTRUCTIONS : text;
}

function leadingSystemTurns(turns: readonly Turn[]): SystemTurn[] {
  return turns.slice(0, countLeadingSystemTurns(turns)).filter((turn) => turn.role === 'system');
}

/** Returns the ids of custom calls, whose results are another kind of item. */
function customCallIds(turns: readonly Turn[]): ReadonlySet<string> {
  const ids = new Set<string>();
  for (const turn of turns) {
    if (turn.role !== 'assistant') continue;
    for (const part of turn.parts) if (part.type === 'tool-call' && part.kind === 'custom') ids.add(part.callId);
  }
  return ids;
}

function renderTurn(turn: Turn, customCalls: ReadonlySet<string>, capabilities: UpstreamCapabilities): Item[] {
  switch (turn.role) {
    case 'system':
      return [{ role: capabilities.developerRole ? 'developer' : 'system', content: joinTexts(turn.parts) }];
    case 'user':
      return [{ role: 'user', content: renderContent(turn.parts) }];
    case 'assistant':
      return renderAssistant(turn);
    case 'tool':
      return renderToolResults(turn, customCalls);
  }
}

function renderContent(parts: readonly (TextPart | ImagePart)[]): unknown {
  if (!parts.some((part) => part.type === 'image')) return joinTexts(parts.filter((part) => part.type === 'text'));
  return parts.map((part) => (part.type === 'text' ? renderText(part.text) : renderImage(part)));
}

function renderText(text: string): Item {
  return { type: 'input_text', text };
}

function renderImage({ mediaType, base64, detail }: ImagePart): Item {
  return { type: 'input_image', image_url: `data:${mediaType};base64,${base64}`, detail: detail ?? 'auto' };
}

/** Puts text before the calls, and keeps a turn without text. Reasoning is not sent back: the upstream did not store it. */
function renderAssistant({ parts }: AssistantTurn): Item[] {
  const text = joinTexts(parts.filter((part) => part.type === 'text'));
  const calls = parts.filter((part) => part.type === 'tool-call');
  const items: Item[] = calls.map((call) => {
    const [call_id, name] = [renderCallId(call.callId), call.wireName];
    if (call.kind === 'custom') return { type: 'custom_tool_call', call_id, name, input: call.argumentsText };
    return { type: 'function_call', call_id, name, arguments: parseArguments(call) };
  });
  return text === '' && items.length > 0 ? items : [{ role: 'assistant', content: text }, ...items];
}

/** Renders one item for each result, in order, with its images. The dialect has no field for a failed tool, so the text says it. */
function renderToolResults({ results }: ToolTurn, customCalls: ReadonlySet<string>): Item[] {
  return results.map(({ callId, parts, isError }) => {
    const failed = isError ? '[tool error] ' : '';
    const content = renderContent(parts);
    const output =
      typeof content === 'string' ? failed + content : failed === '' ? content : [renderText(failed.trim()), ...(content as Item[])];
    return {
      type: customCalls.has(callId) ? 'custom_tool_call_output' : 'function_call_output',
      call_id: renderCallId(callId),
      output,
    };
  });
}

function joinTexts(parts: readonly { text: string }[]): string {
  return parts.length === 1 ? (parts[0] as TextPart).text : parts.map((part) => part.text).join('\n');
}

function renderTools({ tools, toolChoice, hints }: InferenceRequest, capabilities: UpstreamCapabilities): Item {
  if (tools.length === 0 || withholdsTools(toolChoice, capabilities)) return {};
  return {
    tools: tools.map((tool) => renderTool(tool, capabilities)),
    tool_choice: renderToolChoice(toolChoice, tools),
    parallel_tool_calls: capabilities.parallelToolCalls ? hints.parallelToolCalls : undefined,
  };
}

/** Always sends `strict`, because it defaults to true in this dialect. */
function renderTool(tool: Tool, capabilities: UpstreamCapabilities): Item {
  const { wireName: name, description, grammar } = tool;
  if (tool.kind === 'function') {
    const { strict, ...described } = asFunction(tool);
    return { type: 'function', name, ...described, strict: capabilities.strictTools && strict === true };
  }
  if (grammar === undefined) return { type: 'custom', name, description };
  if (grammar.syntax === 'lark' || grammar.syntax === 'regex') {
    return { type: 'custom', name, description, format: { type: 'grammar', syntax: grammar.syntax, definition: grammar.definition } };
  }
  return { type: 'custom', name, description: describeWithGrammar(tool) };
}

/** Omits `auto`: it is the default everywhere. */
function renderToolChoice(choice: ToolChoice | undefined, tools: readonly Tool[]): unknown {
  if (choice === undefined || choice.kind === 'auto') return undefined;
  if (choice.kind !== 'tool') return choice.kind;
  const isCustom = tools.some((tool) => tool.wireName === choice.wireName && tool.kind === 'custom');
  return { type: isCustom ? 'custom' : 'function', name: choice.wireName };
}

function renderOutput(output: OutputFormat, capabilities: UpstreamCapabilities): unknown {
  switch (output.kind) {
    case 'text':
      return undefined;
    case 'json-object':
      return { format: { type: 'json_object' } };
    case 'json-schema': {
      if (!capabilities.jsonSchema) return { format: { type: 'json_object' } };
      const { name, schema, strict, description } = output;
      return { format: { type: 'json_schema', name, description, schema, strict: strict && isStrictSchema(schema) ? true : undefined } };
    }
  }
}
