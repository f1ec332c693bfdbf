import { NO_REASONING, outputInstruction } from '#inference/added-texts.js';
import type { OutputFormat } from '#inference/request.js';
import type { Tool, ToolChoice } from '#inference/tool.js';
import type { AssistantTurn, ImagePart, TextPart, ToolTurn, Turn } from '#inference/turn.js';
import { NO_MESSAGE } from '../requests/arrange-turns.js';
import { asFunction } from '../requests/as-function.js';
import { countLeadingSystemTurns } from '../requests/leading-system-turns.js';
import type { Schema } from '../requests/schema-reference.js';
import { ToolCallInputs } from '../requests/tool-call-inputs.js';
import { withholdsTools } from '../requests/tool-choice.js';
import type { RenderedRequest, UpstreamCall } from '../upstream-adapter.js';
import { markCache } from './cache-markers.js';
import { renderCallId } from './call-id.js';
import { toGrammarSchema } from './grammar-schema.js';
import type { Block, Message } from './message.js';

/** Renders the request. Never asks for extended thinking: the dialect then requires the signed blocks of earlier turns. */
export function renderRequest(call: UpstreamCall, apiKey: string | undefined): RenderedRequest {
  const { request, model, stream, capabilities } = call;
  const { output } = request;
  const temperature = capabilities.temperature === false ? undefined : request.temperature;
  const tools = withholdsTools(request.toolChoice, capabilities) ? [] : request.tools;
  const schema = capabilities.jsonSchema ? enforcedSchema(output) : undefined;
  const leading = countLeadingSystemTurns(request.turns);
  const leadingParts = request.turns.slice(0, leading).flatMap((turn) => (turn.role === 'system' ? turn.parts : []));
  const texts = [...leadingParts.map((part) => part.text), schema === undefined ? outputInstruction(output) : ''].filter(
    (text) => text.trim() !== '',
  );
  const stop = capabilities.stop ? (request.stop ?? []).filter(takesStop) : [];
  const prompt = {
    tools: tools.map((tool) => renderTool(tool, capabilities.strictTools)),
    system: texts.length === 0 ? undefined : texts.join('\n'),
    messages: renderMessages(request.turns.slice(leading), capabilities.reasoningEcho),
  };
  const body = {
    model,
    max_tokens: call.outputTokensMax,
    system: markCache(prompt, call, apiKey),
    messages: prompt.messages,
    temperature: temperature === undefined ? undefined : Math.min(1, temperature),
    top_p: temperature === undefined && capabilities.topP !== false ? request.topP : undefined, // newer models reject the two together
    stop_sequences: stop.length === 0 ? undefined : stop,
    tools: tools.length === 0 ? undefined : prompt.tools,
    tool_choice:
      tools.length === 0
        ? undefined
        : renderToolChoice(request.toolChoice, capabilities.parallelToolCalls ? request.hints.parallelToolCalls : undefined),
    output_config: schema && { format: { type: 'json_schema', schema } },
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

/**
 * Returns the schema that the upstream enforces. Undefined where there is none, where the dialect refuses it, or where the words for the
 * limits that it refuses make it longer than the instruction: the hold counts no more than that.
 */
function enforcedSchema(output: OutputFormat): Schema | undefined {
  const schema = output.kind === 'json-schema' && output.strict ? toGrammarSchema(output.schema) : undefined;
  const isCovered = schema !== undefined && Buffer.byteLength(JSON.stringify(schema)) <= Buffer.byteLength(outputInstruction(output));
  return isCovered ? schema : undefined;
}

/** Renders alternating roles, the user first, and tool results before the other content of their message. */
function renderMessages(turns: readonly Turn[], reasoningEcho: boolean): Message[] {
  const messages: Message[] = [];
  const inputs = new ToolCallInputs();
  for (const turn of turns) {
    // Later system turns become user messages: the dialect has no other place for them.
    const role = turn.role === 'assistant' ? 'assistant' : 'user';
    const content = renderTurn(turn, inputs, reasoningEcho);
    const last = messages.at(-1);
    if (content.length === 0) continue;
    if (last?.role !== role) messages.push({ role, content });
    else for (const block of content) last.content.push(block);
  }
  if (reasoningEcho) for (const message of messages) if (message.role === 'assistant') addReasoning(message);
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

/** Upstreams that require reasoning back want it in each message of the model, before the call that it led to. */
function addReasoning({ content }: Message): void {
  if (!content.some(({ type }) => type === 'thinking')) content.unshift(renderReasoning(NO_REASONING));
}

function renderTurn(turn: Turn, inputs: ToolCallInputs, reasoningEcho: boolean): Block[] {
  switch (turn.role) {
    case 'system':
    case 'user':
      return renderParts(turn.parts);
    case 'assistant':
      return renderAssistant(turn, inputs, reasoningEcho);
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

/** Puts reasoning first, without a signature, where the upstream requires it. Others accept only blocks that they have signed. */
function renderAssistant({ parts }: AssistantTurn, inputs: ToolCallInputs, reasoningEcho: boolean): Block[] {
  const reasoning = reasoningEcho ? parts.filter((part) => part.type === 'reasoning').filter(({ text }) => text !== '') : [];
  const others = parts.flatMap((part): Block[] => {
    if (part.type === 'reasoning') return [];
    if (part.type === 'text') return renderParts([part]);
    return [{ type: 'tool_use', id: renderCallId(part.callId), name: part.wireName, input: inputs.render(part) }];
  });
  return [...reasoning.map((part) => renderReasoning(part.text)), ...others];
}

function renderReasoning(text: string): Block {
  return { type: 'thinking', thinking: text };
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
  const isEnforced = strict !== true || isGrammarSchema(parameters);
  return { name: tool.wireName, description, input_schema: parameters, strict: takesStrict && isEnforced ? strict : undefined };
}

/** True for a schema that the dialect enforces as it is. A tool with any other goes without `strict`, so that its limits stay. */
function isGrammarSchema(schema: Schema): boolean {
  return JSON.stringify(toGrammarSchema(schema)) === JSON.stringify(schema);
}

function renderToolChoice(choice: ToolChoice | undefined, parallel: boolean | undefined): unknown {
  const single = parallel === false ? { disable_parallel_tool_use: true } : {};
  if (choice === undefined || choice.kind === 'auto') return parallel === false ? { type: 'auto', ...single } : undefined;
  if (choice.kind === 'none') return { type: 'none' };
  return choice.kind === 'tool' ? { type: 'tool', name: choice.wireName, ...single } : { type: 'any', ...single };
}
