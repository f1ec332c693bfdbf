import { outputInstruction } from '#inference/added-texts.js';
import type { Tool, ToolChoice } from '#inference/tool.js';
import { asFunction } from '../requests/as-function.js';
import { type Block, type BlockRenderer, renderMessages } from '../requests/block-messages.js';
import { enforcedSchema, isGrammarSchema } from '../requests/grammar-schema.js';
import { countLeadingSystemTurns, joinSystemTexts } from '../requests/leading-system-turns.js';
import { withholdsTools } from '../requests/tool-choice.js';
import type { RenderedRequest, UpstreamCall } from '../upstream-adapter.js';
import { markCache } from './cache-markers.js';
import { renderCallId } from './call-id.js';

/** Renders the request. Never asks for extended thinking: the dialect then requires the signed blocks of earlier turns. */
export function renderRequest(call: UpstreamCall, apiKey: string | undefined): RenderedRequest {
  const { request, model, stream, capabilities } = call;
  const { output } = request;
  const temperature = capabilities.temperature === false ? undefined : request.temperature;
  const tools = withholdsTools(request.toolChoice, capabilities) ? [] : request.tools;
  const schema = capabilities.jsonSchema ? enforcedSchema(output) : undefined;
  const leading = countLeadingSystemTurns(request.turns);
  const stop = capabilities.stop ? (request.stop ?? []).filter(takesStop) : [];
  const prompt = {
    tools: tools.map((tool) => renderTool(tool, capabilities.strictTools)),
    system: joinSystemTexts(request.turns.slice(0, leading), schema === undefined ? outputInstruction(output) : ''),
    messages: renderMessages(request.turns.slice(leading), BLOCKS, capabilities.reasoningEcho),
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

/** Reasoning goes without a signature. */
const BLOCKS: BlockRenderer = {
  text: (text) => ({ type: 'text', text }),
  image: ({ mediaType, base64 }) => ({ type: 'image', source: { type: 'base64', media_type: mediaType, data: base64 } }),
  reasoning: (text) => ({ type: 'thinking', thinking: text }),
  call: ({ callId, wireName }, input) => ({ type: 'tool_use', id: renderCallId(callId), name: wireName, input }),
  result: ({ callId, isError }, content) => ({
    type: 'tool_result',
    tool_use_id: renderCallId(callId),
    content: content.length === 0 ? undefined : content,
    is_error: isError === true ? true : undefined,
  }),
};

function renderTool(tool: Tool, takesStrict: boolean): Block {
  const { description, parameters, strict } = asFunction(tool);
  const isEnforced = strict !== true || isGrammarSchema(parameters);
  return { name: tool.wireName, description, input_schema: parameters, strict: takesStrict && isEnforced ? strict : undefined };
}

function renderToolChoice(choice: ToolChoice | undefined, parallel: boolean | undefined): unknown {
  const single = parallel === false ? { disable_parallel_tool_use: true } : {};
  if (choice === undefined || choice.kind === 'auto') return parallel === false ? { type: 'auto', ...single } : undefined;
  if (choice.kind === 'none') return { type: 'none' };
  return choice.kind === 'tool' ? { type: 'tool', name: choice.wireName, ...single } : { type: 'any', ...single };
}
