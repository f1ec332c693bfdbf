import { outputInstruction } from '#inference/added-texts.js';
import type { Tool, ToolChoice } from '#inference/tool.js';
import type { AssistantTurn, Turn } from '#inference/turn.js';
import { replaceHalves } from '#inference/whole-characters.js';
import { asFunction } from '../requests/as-function.js';
import { type Block, type BlockRenderer, renderMessages } from '../requests/block-messages.js';
import { enforcedSchema, isGrammarSchema } from '../requests/grammar-schema.js';
import { countLeadingSystemTurns, joinSystemTexts } from '../requests/leading-system-turns.js';
import { findMarkedMessages } from '../requests/marked-prompt.js';
import type { RenderedRequest, UpstreamCall } from '../upstream-adapter.js';
import { renderCallId } from './call-id.js';

/** Renders the request. Model and operation are in the path. Never asks for reasoning: each vendor's models have their own field for it. */
export function renderRequest(call: UpstreamCall, apiKey: string | undefined): RenderedRequest {
  const { request, model, stream, capabilities } = call;
  const { output, toolChoice } = request;
  const tools = toolChoice?.kind === 'none' ? [] : request.tools; // the dialect has no choice that forbids calls
  const schema = capabilities.jsonSchema ? enforcedSchema(output) : undefined;
  const leading = countLeadingSystemTurns(request.turns);
  const later = request.turns.slice(leading);
  const prompt = {
    tools: tools.map((tool) => renderTool(tool, capabilities.strictTools)),
    system: joinSystemTexts(request.turns.slice(0, leading), schema === undefined ? outputInstruction(output) : ''),
    messages: renderMessages(tools.length === 0 ? later.map(tellCalls) : later, BLOCKS, capabilities.reasoningEcho),
  };
  const markers = markCache(prompt, call, apiKey);
  const body = {
    system: prompt.system === undefined ? undefined : [{ text: prompt.system }, ...markers],
    messages: prompt.messages,
    inferenceConfig: renderSampling(call),
    toolConfig:
      tools.length === 0 ? undefined : { tools: prompt.tools.map((toolSpec) => ({ toolSpec })), toolChoice: renderToolChoice(toolChoice) },
    outputConfig: schema && {
      textFormat: { type: 'json_schema', structure: { jsonSchema: { schema: replaceHalves(JSON.stringify(schema)) } } },
    },
  };
  return {
    path: `model/${encodeURIComponent(model.toWellFormed())}`,
    action: stream ? '/converse-stream' : '/converse',
    headers: {
      ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
      ...(stream && { accept: 'application/vnd.amazon.eventstream' }),
    },
    body,
  };
}

/** True unless the sequence is only white space, which models of the dialect refuse. */
export function takesStop(sequence: string): boolean {
  return sequence.trim() !== '';
}

function renderSampling({ request, outputTokensMax, capabilities }: UpstreamCall): Block {
  const temperature = capabilities.temperature === false ? undefined : request.temperature;
  const stop = capabilities.stop ? (request.stop ?? []).filter(takesStop) : [];
  return {
    maxTokens: capabilities.outputCap === false ? undefined : outputTokensMax,
    temperature: temperature === undefined ? undefined : Math.min(1, temperature),
    topP: temperature === undefined && capabilities.topP !== false ? request.topP : undefined, // newer models reject the two together
    stopSequences: stop.length === 0 ? undefined : stop,
  };
}

/** An empty result has content too: some models refuse one without any. */
const BLOCKS: BlockRenderer = {
  text: (text) => ({ text }),
  image: ({ mediaType, base64 }) => ({ image: { format: mediaType.slice('image/'.length), source: { bytes: base64 } } }),
  reasoning: (text) => ({ reasoningContent: { reasoningText: { text } } }),
  call: ({ callId, wireName }, input) => ({ toolUse: { toolUseId: renderCallId(callId), name: wireName, input } }),
  result: ({ callId, isError }, content) => ({
    toolResult: {
      toolUseId: renderCallId(callId),
      content: content.length === 0 ? [{ json: {} }] : content,
      status: isError === true ? 'error' : undefined,
    },
  }),
};

/** Renders calls and results as text, for requests without tools: the dialect refuses their blocks there. */
function tellCalls(turn: Turn): Turn {
  if (turn.role === 'tool') return { role: 'user', parts: turn.results.flatMap(({ parts }) => parts) };
  if (turn.role !== 'assistant') return turn;
  const parts = turn.parts.map((part): AssistantTurn['parts'][number] =>
    part.type === 'tool-call' ? { type: 'text', text: `${part.wireName}(${part.argumentsText})` } : part,
  );
  return { role: 'assistant', parts };
}

function renderTool(tool: Tool, takesStrict: boolean): Block {
  const { description, parameters, strict } = asFunction(tool);
  const isEnforced = strict === true && takesStrict && isGrammarSchema(parameters);
  return { name: tool.wireName, description: description || undefined, inputSchema: { json: parameters }, strict: isEnforced || undefined };
}

/** Omits `auto`: it is the default. */
function renderToolChoice(choice: ToolChoice | undefined): Block | undefined {
  if (choice?.kind === 'required') return { any: {} };
  return choice?.kind === 'tool' ? { tool: { name: choice.wireName } } : undefined;
}

/**
 * Asks the upstream to cache the prompt, and returns the marker of the system prompt. Tools are before it, so they have none of their own,
 * which some models refuse.
 */
function markCache(prompt: Parameters<typeof findMarkedMessages>[0], call: UpstreamCall, apiKey: string | undefined): Block[] {
  const messages = findMarkedMessages(prompt, call, apiKey);
  if (messages === undefined) return [];
  const marker = { cachePoint: { type: 'default', ...(call.capabilities.promptCache === '1h' && { ttl: '1h' }) } };
  for (const { content } of messages) content.push(marker);
  return [marker];
}
