import type { UpstreamCapabilities } from '#contracts/catalog.js';
import type { OutputFormat } from '#inference/request.js';
import type { Tool, ToolChoice } from '#inference/tool.js';
import type { AssistantTurn, ImagePart, TextPart, ToolTurn, Turn, UserTurn } from '#inference/turn.js';
import type { RenderedRequest, UpstreamCall } from '../upstream-adapter.js';

/**
 * The smallest body that says what the request says: many servers refuse what they do not know (U-19). Texts are strings,
 * names of speakers and end users stay here, and of the hints only those go on that nearly every server takes.
 */
export function renderRequest(call: UpstreamCall, apiKey: string | undefined): RenderedRequest {
  const { request, model, stream, capabilities } = call;
  const body = {
    model,
    messages: request.turns.flatMap((turn) => renderTurn(turn, capabilities)),
    [capabilities.maxTokensField]: call.outputTokensMax,
    temperature: request.temperature,
    top_p: request.topP,
    stop: capabilities.stop && request.stop?.length ? request.stop : undefined,
    ...renderTools(request.tools, request.toolChoice, request.hints.parallelToolCalls, capabilities),
    response_format: renderOutput(request.output, capabilities),
    seed: request.hints.seed,
    presence_penalty: request.hints.presencePenalty || undefined,
    frequency_penalty: request.hints.frequencyPenalty || undefined,
    stream,
    stream_options: stream && capabilities.streamOptions ? { include_usage: true } : undefined,
  };
  return {
    path: 'chat/completions',
    headers: {
      'content-type': 'application/json',
      accept: stream ? 'text/event-stream' : 'application/json',
      ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    },
    body: JSON.stringify(body),
  };
}

type Message = Record<string, unknown>;

function renderTurn(turn: Turn, capabilities: UpstreamCapabilities): Message[] {
  switch (turn.role) {
    case 'system':
      return [{ role: capabilities.developerRole ? 'developer' : 'system', content: joinTexts(turn.parts) }];
    case 'user':
      return [{ role: 'user', content: renderUserContent(turn.parts) }];
    case 'assistant':
      return [renderAssistant(turn, capabilities)];
    case 'tool':
      return renderToolResults(turn);
  }
}

function renderUserContent(parts: UserTurn['parts']): unknown {
  if (!parts.some((part) => part.type === 'image')) return joinTexts(parts.filter((part) => part.type === 'text'));
  return parts.map((part) => (part.type === 'text' ? { type: 'text', text: part.text } : renderImage(part)));
}

function renderImage({ mediaType, base64, detail }: ImagePart): unknown {
  return { type: 'image_url', image_url: { url: `data:${mediaType};base64,${base64}`, detail } };
}

/** Text beside calls is kept, and the turn is never dropped for having none (T-14). */
function renderAssistant({ parts }: AssistantTurn, capabilities: UpstreamCapabilities): Message {
  const text = joinTexts(parts.filter((part) => part.type === 'text'));
  const reasoning = joinTexts(parts.filter((part) => part.type === 'reasoning'));
  const calls = parts.filter((part) => part.type === 'tool-call');
  return {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    reasoning_content: capabilities.reasoningEcho && reasoning !== '' ? reasoning : undefined,
    tool_calls:
      calls.length === 0
        ? undefined
        : calls.map((call) => ({
            id: call.callId,
            type: 'function',
            function: {
              name: call.wireName,
              arguments: call.kind === 'custom' ? JSON.stringify({ input: call.argumentsText }) : call.argumentsText || '{}',
            },
          })),
  };
}

/**
 * One message a result, and nothing between them; the images of all of them follow as one user message (T-10 … T-12).
 * The dialect has no field for a failed tool, so the text says it (T-13).
 */
function renderToolResults({ results }: ToolTurn): Message[] {
  const messages: Message[] = [];
  const images: unknown[] = [];
  for (const { callId, parts, isError } of results) {
    const text = joinTexts(parts.filter((part) => part.type === 'text'));
    const ownImages = parts.filter((part) => part.type === 'image');
    const content = text === '' && ownImages.length > 0 ? 'The result is the image below.' : text;
    messages.push({ role: 'tool', tool_call_id: callId, content: isError ? `[tool error] ${content}` : content });
    if (ownImages.length > 0) images.push({ type: 'text', text: `Image from tool call ${callId}:` }, ...ownImages.map(renderImage));
  }
  return images.length === 0 ? messages : [...messages, { role: 'user', content: images }];
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
  if (tools.length === 0) return {};
  return {
    tools: tools.map((tool) => ({ type: 'function', function: renderTool(tool, capabilities) })),
    tool_choice: renderToolChoice(choice),
    parallel_tool_calls: capabilities.parallelToolCalls ? parallel : undefined,
  };
}

function renderTool(tool: Tool, capabilities: UpstreamCapabilities): Message {
  if (tool.kind === 'custom') {
    const grammar = tool.grammar && `The input follows this ${tool.grammar.syntax} grammar:\n${tool.grammar.definition}`;
    return {
      name: tool.wireName,
      description: [tool.description, grammar].filter(Boolean).join('\n\n') || undefined,
      parameters: { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] },
    };
  }
  return {
    name: tool.wireName,
    description: tool.description,
    parameters: tool.parameters ?? { type: 'object', properties: {} },
    strict: capabilities.strictTools ? tool.strict : undefined,
  };
}

/** `auto` is what every server does anyway, and what some refuse to be told. */
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
      return { type: 'json_schema', json_schema: { name, description, schema, strict } };
    }
  }
}
