import type { UpstreamCapabilities } from '#contracts/catalog.js';
import { NO_REASONING } from '#inference/added-texts.js';
import type { Hints, OutputFormat } from '#inference/request.js';
import type { Tool, ToolChoice } from '#inference/tool.js';
import type { AssistantTurn, ImagePart, TextPart, ToolTurn, Turn, UserTurn } from '#inference/turn.js';
import { arrangeTurns } from '../requests/arrange-turns.js';
import { asFunction } from '../requests/as-function.js';
import { renderCacheKey } from '../requests/cache-key.js';
import { parseArguments } from '../requests/call-arguments.js';
import { instructOutput } from '../requests/instruct-output.js';
import { liftResultImages } from '../requests/lift-result-images.js';
import { isStrictSchema } from '../requests/strict-schema.js';
import { withholdsTools } from '../requests/tool-choice.js';
import type { RenderedRequest, UpstreamCall } from '../upstream-adapter.js';
import { renderCallId } from './call-id.js';

/**
 * Renders the smallest body that expresses the request, because many servers refuse unknown fields. Texts are strings; names of speakers
 * and end users are not sent.
 */
export function renderRequest(call: UpstreamCall, apiKey: string | undefined): RenderedRequest {
  const { request, model, stream, capabilities } = call;
  const body = {
    model,
    messages: renderMessages(instructOutput(request, capabilities), capabilities),
    [capabilities.maxTokensField]: capabilities.outputCap === false ? undefined : call.outputTokensMax,
    temperature: capabilities.temperature === false ? undefined : request.temperature,
    top_p: capabilities.topP === false ? undefined : request.topP,
    stop: capabilities.stop && request.stop?.length ? request.stop : undefined,
    ...renderTools(request.tools, request.toolChoice, request.hints.parallelToolCalls, capabilities),
    response_format: renderOutput(request.output, capabilities),
    ...renderHints(request.hints, capabilities),
    ...renderCacheKey(call, 'none', apiKey),
    stream,
    stream_options: stream && capabilities.streamOptions ? { include_usage: true } : undefined,
  };
  return {
    path: 'chat/completions',
    headers: renderHeaders(apiKey),
    body,
  };
}

export function renderHeaders(apiKey: string | undefined): Record<string, string> {
  return apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
}

type Message = Record<string, unknown>;

function renderHints(hints: Hints, capabilities: UpstreamCapabilities): Message {
  return {
    seed: capabilities.seed ? hints.seed : undefined,
    presence_penalty: (capabilities.penalties && hints.presencePenalty) || undefined,
    frequency_penalty: (capabilities.penalties && hints.frequencyPenalty) || undefined,
    ...renderReasoning(hints, capabilities),
  };
}

/** Renders the effort, or the field with which the upstream switches reasoning off. Templates ignore the argument that is not theirs. */
function renderReasoning({ reasoningOff, reasoningEffort }: Hints, capabilities: UpstreamCapabilities): Message {
  switch (reasoningOff ? capabilities.reasoningSwitch : 'none') {
    case 'reasoning_effort':
      return { reasoning_effort: 'none' };
    case 'chat_template_kwargs':
      return { chat_template_kwargs: { enable_thinking: false, thinking: false } };
    case 'thinking':
      return { thinking: { type: 'disabled' } };
    case 'none':
    case undefined:
      return { reasoning_effort: capabilities.reasoningEffort ? reasoningEffort : undefined };
  }
}

function renderMessages(turns: readonly Turn[], capabilities: UpstreamCapabilities): Message[] {
  const lifted = liftResultImages(turns, (callId) => renderCallId(callId, capabilities));
  return arrangeTurns(lifted, capabilities).flatMap((turn) => renderTurn(turn, capabilities));
}

function renderTurn(turn: Turn, capabilities: UpstreamCapabilities): Message[] {
  switch (turn.role) {
    case 'system':
      return [{ role: capabilities.developerRole ? 'developer' : 'system', content: joinTexts(turn.parts) }];
    case 'user':
      return [{ role: 'user', content: renderUserContent(turn.parts) }];
    case 'assistant':
      return [renderAssistant(turn, capabilities)];
    case 'tool':
      return renderToolResults(turn, capabilities);
  }
}

function renderUserContent(parts: UserTurn['parts']): unknown {
  if (!parts.some((part) => part.type === 'image')) return joinTexts(parts.filter((part) => part.type === 'text'));
  return parts.map((part) => (part.type === 'text' ? { type: 'text', text: part.text } : renderImage(part)));
}

function renderImage({ mediaType, base64, detail }: ImagePart): unknown {
  return { type: 'image_url', image_url: { url: `data:${mediaType};base64,${base64}`, detail } };
}

/** Keeps text beside calls, and a turn without text. An upstream that requires reasoning requires it in each message of the model. */
function renderAssistant({ parts }: AssistantTurn, capabilities: UpstreamCapabilities): Message {
  const text = joinTexts(parts.filter((part) => part.type === 'text'));
  const reasoning = joinTexts(parts.filter((part) => part.type === 'reasoning'));
  const calls = parts.filter((part) => part.type === 'tool-call');
  return {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    reasoning_content: capabilities.reasoningEcho ? reasoning || NO_REASONING : undefined,
    tool_calls:
      calls.length === 0
        ? undefined
        : calls.map((call) => ({
            id: renderCallId(call.callId, capabilities),
            type: 'function',
            function: {
              name: call.wireName,
              arguments: call.kind === 'custom' ? JSON.stringify({ input: call.argumentsText.toWellFormed() }) : parseArguments(call),
            },
          })),
  };
}

/** Renders one message for each result, with nothing between them. The dialect has no field for a failed tool, so the text says it. */
function renderToolResults({ results }: ToolTurn, capabilities: UpstreamCapabilities): Message[] {
  return results.map(({ callId, parts, isError }) => {
    const content = joinTexts(parts.filter((part) => part.type === 'text'));
    return { role: 'tool', tool_call_id: renderCallId(callId, capabilities), content: isError ? `[tool error] ${content}` : content };
  });
}

function joinTexts(parts: readonly { text: string }[]): string {
  return parts.length === 1 ? (parts[0] as TextPart).text : parts.map((part) => part.text).join('\n');
}

function renderTools(
  tools: readonly Tool[],
  choice: ToolChoice | undefined,
  parallel: boolean | undefined,
  capabilities: UpstreamCapabilities,
): Message {
  if (tools.length === 0 || withholdsTools(choice, capabilities)) return {};
  return {
    tools: tools.map((tool) => ({ type: 'function', function: renderTool(tool, capabilities) })),
    tool_choice: renderToolChoice(choice),
    parallel_tool_calls: capabilities.parallelToolCalls ? parallel : undefined,
  };
}

function renderTool(tool: Tool, { strictTools }: UpstreamCapabilities): Message {
  const { description, parameters, strict } = asFunction(tool);
  return { name: tool.wireName, description, parameters, strict: strictTools ? strict : undefined };
}

/** Omits `auto`: it is the default everywhere, and some servers refuse it. */
function renderToolChoice(choice: ToolChoice | undefined): unknown {
  if (choice === undefined || choice.kind === 'auto') return undefined;
  return choice.kind === 'tool' ? { type: 'function', function: { name: choice.wireName } } : choice.kind;
}

function renderOutput(output: OutputFormat, capabilities: UpstreamCapabilities): unknown {
  switch (output.kind) {
    case 'text':
      return undefined;
    case 'json-object':
      return { type: 'json_object' };
    case 'json-schema': {
      if (!capabilities.jsonSchema) return { type: 'json_object' };
      const { name, schema, strict, description } = output;
      return {
        type: 'json_schema',
        json_schema: { name, description, schema, strict: strict && isStrictSchema(schema) ? true : undefined },
      };
    }
  }
}
