import type { OutputFormat } from '#inference/request.js';
import type { Tool, ToolChoice } from '#inference/tool.js';
import type { AssistantTurn, ImagePart, TextPart, ToolTurn, Turn } from '#inference/turn.js';
import { NO_MESSAGE } from '../requests/arrange-turns.js';
import { asFunction } from '../requests/as-function.js';
import type { RenderedRequest, UpstreamCall } from '../upstream-adapter.js';
import { renderCallId } from './call-id.js';
import { ToolCallInputs } from './tool-call-inputs.js';

type Block = Record<string, unknown>;
interface Message {
  role: 'user' | 'assistant';
  content: Block[];
}

/** Renders the request. Never asks for extended thinking: the dialect then requires the signed blocks of earlier turns. */
export function renderRequest(call: UpstreamCall, apiKey: string | undefined): RenderedRequest {
  const { request, model, stream, capabilities } = call;
  const { output, temperature } = request;
  const native = output.kind === 'json-schema' && output.strict === true && capabilities.jsonSchema;
  const firstOther = request.turns.findIndex((turn) => turn.role !== 'system');
  const leading = firstOther === -1 ? request.turns.length : firstOther;
  const system = request.turns.slice(0, leading).flatMap((turn) => (turn.role === 'system' ? turn.parts : []));
  const texts = [...system.map((part) => part.text), native ? '' : outputInstruction(output)].filter((text) => text.trim() !== '');
  const stop = capabilities.stop ? (request.stop ?? []).filter(takesStop) : [];
  const body = {
    model,
    max_tokens: call.outputTokensMax,
    system: texts.length === 0 ? undefined : texts.join('\n'),
    messages: renderMessages(request.turns.slice(leading)),
    temperature: temperature === undefined ? undefined : Math.min(1, temperature),
    top_p: temperature === undefined ? request.topP : undefined, // newer models reject the two together
    stop_sequences: stop.length === 0 ? undefined : stop,
    tools: request.tools.length === 0 ? undefined : request.tools.map((tool) => renderTool(tool, capabilities.strictTools)),
    tool_choice:
      request.tools.length === 0
        ? undefined
        : renderToolChoice(request.toolChoice, capabilities.parallelToolCalls ? request.hints.parallelToolCalls : undefined),
    output_config: native ? { format: { type: 'json_schema', schema: output.schema } } : undefined,
    stream,
  };
  return {
    path: 'messages',
    headers: { 'anthropic-version': '2023-06-01', ...(apiKey !== undefined && { 'x-api-key': apiKey }) },
    body,
  };
}

/** True unless the sequence is only white space, which the dialect refuses. */
export function takesStop(sequence: string): boolean {
  return sequence.trim() !== '';
}

function outputInstruction(output: OutputFormat): string {
  switch (output.kind) {
    case 'text':
      return '';
    case 'json-object':
      return 'Answer with one JSON object and nothing else.';
    case 'json-schema':
      return `Answer with JSON and nothing else. It must match this JSON Schema:\n${JSON.stringify(output.schema)}`;
  }
}

/** Renders alternating roles, the user first, and tool results before the other content of their message. */
function renderMessages(turns: readonly Turn[]): Message[] {
  const messages: Message[] = [];
  const inputs = new ToolCallInputs();
  for (const turn of turns) {
    // Later system turns become user messages: the dialect has no other place for them.
    const role = turn.role === 'assistant' ? 'assistant' : 'user';
    const content = renderTurn(turn, inputs);
    const last = messages.at(-1);
    if (content.length === 0) continue;
    if (last?.role !== role) messages.push({ role, content });
    else for (const block of content) last.content.push(block);
  }
  for (const message of messages) {
    const isResult = (block: Block): boolean => block.type === 'tool_result';
    message.content = [...message.content.filter(isResult), ...message.content.filter((block) => !isResult(block))];
  }
  if (messages[0]?.role !== 'user') messages.unshift({ role: 'user', content: [{ type: 'text', text: NO_MESSAGE }] });
  const final = messages.at(-1);
  const end = final?.content.at(-1);
  if (final?.role === 'assistant' && typeof end?.text === 'string') end.text = end.text.trimEnd(); // refused otherwise
  return messages;
}

function renderTurn(turn: Turn, inputs: ToolCallInputs): Block[] {
  switch (turn.role) {
    case 'system':
    case 'user':
      return renderParts(turn.parts);
    case 'assistant':
      return renderAssistant(turn, inputs);
    case 'tool':
      return renderToolResults(turn);
  }
}

/** Omits texts of only white space, which the dialect refuses. */
function renderParts(parts: readonly (TextPart | ImagePart)[]): Block[] {
  return parts
    .filter((part) => part.type === 'image' || part.text.trim() !== '')
    .map((part) => (part.type === 'text' ? { type: 'text', text: part.text } : renderImage(part)));
}

function renderImage({ mediaType, base64 }: ImagePart): Block {
  return { type: 'image', source: { type: 'base64', media_type: mediaType, data: base64 } };
}

/** Omits reasoning: the dialect accepts only blocks that it has signed. */
function renderAssistant({ parts }: AssistantTurn, inputs: ToolCallInputs): Block[] {
  return parts.flatMap((part): Block[] => {
    if (part.type === 'reasoning') return [];
    if (part.type === 'text') return renderParts([part]);
    return [{ type: 'tool_use', id: renderCallId(part.callId), name: part.wireName, input: inputs.render(part) }];
  });
}

function renderToolResults({ results }: ToolTurn): Block[] {
  return results.map(({ callId, parts, isError }) => {
    const content = renderParts(parts);
    return {
      type: 'tool_result',
      tool_use_id: renderCallId(callId),
      content: content.length === 0 ? undefined : content,
      is_error: isError === true ? true : undefined,
    };
  });
}

function renderTool(tool: Tool, takesStrict: boolean): Block {
  const { description, parameters, strict } = asFunction(tool);
  return { name: tool.wireName, description, input_schema: parameters, strict: takesStrict ? strict : undefined };
}

function renderToolChoice(choice: ToolChoice | undefined, parallel: boolean | undefined): unknown {
  const single = parallel === false ? { disable_parallel_tool_use: true } : {};
  if (choice === undefined || choice.kind === 'auto') return parallel === false ? { type: 'auto', ...single } : undefined;
  if (choice.kind === 'none') return { type: 'none' };
  return choice.kind === 'tool' ? { type: 'tool', name: choice.wireName, ...single } : { type: 'any', ...single };
}
