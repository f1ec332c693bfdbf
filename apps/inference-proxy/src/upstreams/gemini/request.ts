import type { UpstreamCapabilities } from '#contracts/catalog.js';
import { CACHED_PROMPT_TOKENS_MIN } from '#inference/added-texts.js';
import type { Hints, OutputFormat } from '#inference/request.js';
import type { Tool, ToolChoice } from '#inference/tool.js';
import type { AssistantTurn, ImagePart, TextPart, ToolTurn, Turn } from '#inference/turn.js';
import { nameAccount } from '../requests/account-line.js';
import { arrangeTurns, NO_MESSAGE } from '../requests/arrange-turns.js';
import { asFunction } from '../requests/as-function.js';
import { instructOutput } from '../requests/instruct-output.js';
import { countLeadingSystemTurns, joinSystemTexts } from '../requests/leading-system-turns.js';
import { liftResultImages } from '../requests/lift-result-images.js';
import { ToolCallInputs } from '../requests/tool-call-inputs.js';
import { withholdsTools } from '../requests/tool-choice.js';
import type { RenderedRequest, UpstreamCall } from '../upstream-adapter.js';
import { renderCallId } from './call-id.js';

type Json = Record<string, unknown>;

/** Renders the request. Model and operation are in the path. */
export function renderRequest(call: UpstreamCall, apiKey: string | undefined): RenderedRequest {
  const { request, model, stream, capabilities } = call;
  const tools = withholdsTools(request.toolChoice, capabilities) ? [] : request.tools;
  const isEnforced = enforcesOutput(request.output, tools, capabilities);
  const turns = placeTurns(isEnforced ? request.turns : instructOutput(request, { jsonSchema: false }), capabilities);
  const leading = countLeadingSystemTurns(turns);
  const prompt = { tools: tools.map(renderTool), system: joinSystemTexts(turns.slice(0, leading)) };
  if (namesAccount(call)) nameAccount(prompt, call, apiKey);
  const body = {
    systemInstruction: prompt.system === undefined ? undefined : { parts: [{ text: prompt.system }] },
    contents: renderContents(turns.slice(leading), capabilities),
    tools: tools.length === 0 ? undefined : [{ functionDeclarations: prompt.tools }],
    toolConfig: tools.length === 0 ? undefined : renderToolChoice(request.toolChoice),
    generationConfig: {
      ...renderSampling(call),
      ...renderOutput(request.output, tools, capabilities),
      thinkingConfig: renderThinking(request.hints, capabilities),
    },
  };
  return {
    path: renderPath(model),
    action: stream ? ':streamGenerateContent' : ':generateContent',
    ...(stream && { query: 'alt=sse' }),
    headers: apiKey === undefined ? {} : renderKey(apiKey),
    body,
  };
}

/** Vertex AI takes access tokens too, which all begin with the same letters. */
function renderKey(apiKey: string): Record<string, string> {
  return apiKey.startsWith('ya29.') ? { authorization: `Bearer ${apiKey}` } : { 'x-goog-api-key': apiKey };
}

/** A model with slashes has its collection in its name: `tunedModels/…`, `publishers/google/models/…`. */
function renderPath(model: string): string {
  return /^(?:\w[\w.-]*\/)+[\w.-]+$/.test(model) ? model : `models/${encodeURIComponent(model.toWellFormed())}`;
}

/** The upstream caches any long prompt without being asked. A model without a system prompt gets no line. */
function namesAccount({ promptTokensEstimate, capabilities: { cacheKey, systemMessages } }: UpstreamCall): boolean {
  return promptTokensEstimate >= CACHED_PROMPT_TOKENS_MIN && cacheKey !== 'none' && systemMessages !== 'none';
}

const STOP_SEQUENCES_MAX = 5;

/** The dialect takes five stop sequences. */
export function takesStop(_sequence: string, position: number): boolean {
  return position < STOP_SEQUENCES_MAX;
}

function renderSampling({ request, outputTokensMax, capabilities }: UpstreamCall): Json {
  const { hints } = request;
  const stop = capabilities.stop ? (request.stop ?? []).filter(takesStop) : [];
  return {
    maxOutputTokens: capabilities.outputCap === false ? undefined : outputTokensMax,
    temperature: capabilities.temperature === false ? undefined : request.temperature,
    topP: capabilities.topP === false ? undefined : request.topP,
    stopSequences: stop.length === 0 ? undefined : stop,
    seed: capabilities.seed ? hints.seed : undefined,
    presencePenalty: (capabilities.penalties && hints.presencePenalty) || undefined,
    frequencyPenalty: (capabilities.penalties && hints.frequencyPenalty) || undefined,
  };
}

/** Words of clients for the effort, by the levels of the dialect. */
const LEVELS: Record<string, string> = { minimal: 'MINIMAL', low: 'LOW', medium: 'MEDIUM', high: 'HIGH', xhigh: 'HIGH', max: 'HIGH' };

/** Newer models take a level, older ones a budget, and each refuses the other. */
function renderThinking({ reasoningOff, reasoningEffort = '' }: Hints, capabilities: UpstreamCapabilities): Json | undefined {
  const { reasoningSwitch = 'none' } = capabilities;
  const thinking: Json = {
    thinkingLevel: capabilities.reasoningEffort ? LEVELS[reasoningEffort] : undefined,
    includeThoughts: capabilities.reasoningSummary ? true : undefined,
  };
  if (reasoningOff && reasoningSwitch === 'thinking') return { thinkingBudget: 0 };
  if (reasoningOff && reasoningSwitch === 'reasoning_effort') thinking.thinkingLevel = 'MINIMAL';
  return Object.values(thinking).some((value) => value !== undefined) ? thinking : undefined;
}

/** True when the upstream enforces the output. Older models refuse to do so beside tools. */
function enforcesOutput({ kind }: OutputFormat, tools: readonly Tool[], { jsonSchema }: UpstreamCapabilities): boolean {
  return jsonSchema || (kind === 'json-object' && tools.length === 0);
}

function renderOutput(output: OutputFormat, tools: readonly Tool[], capabilities: UpstreamCapabilities): Json {
  if (output.kind === 'text' || (!capabilities.jsonSchema && tools.length > 0)) return {};
  const schema = output.kind === 'json-schema' && capabilities.jsonSchema ? output.schema : undefined;
  return { responseMimeType: 'application/json', responseJsonSchema: schema };
}

/** Returns the turns with system turns in front alone: later ones become turns of the user. */
function placeTurns(turns: readonly Turn[], { systemMessages, alternatingRoles }: UpstreamCapabilities): readonly Turn[] {
  return arrangeTurns(turns, { systemMessages: systemMessages === 'none' ? 'none' : 'first', alternatingRoles });
}

/** Renders the conversation, the user first. The results of a turn with calls follow it as a content of their own. */
function renderContents(turns: readonly Turn[], capabilities: UpstreamCapabilities): Json[] {
  const names = toolNames(turns);
  const inputs = new ToolCallInputs();
  const contents: Json[] = [];
  for (const turn of liftResultImages(turns, (callId) => renderCallId(callId, false).id)) {
    const parts = renderTurn(turn, names, inputs, capabilities.reasoningEcho);
    if (parts.length > 0) contents.push({ role: turn.role === 'assistant' ? 'model' : 'user', parts });
  }
  if (contents[0]?.role !== 'user') contents.unshift({ role: 'user', parts: [{ text: NO_MESSAGE }] });
  return contents;
}

/** Returns the names of the called tools by the ids of the calls: results have them too. */
function toolNames(turns: readonly Turn[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const turn of turns) {
    if (turn.role !== 'assistant') continue;
    for (const part of turn.parts) if (part.type === 'tool-call') names.set(part.callId, part.wireName);
  }
  return names;
}

function renderTurn(turn: Turn, names: ReadonlyMap<string, string>, inputs: ToolCallInputs, signsCalls: boolean): Json[] {
  switch (turn.role) {
    case 'system':
    case 'user':
      return renderParts(turn.parts);
    case 'assistant':
      return renderAssistant(turn, inputs, signsCalls);
    case 'tool':
      return renderToolResults(turn, names);
  }
}

/** Omits texts of only white space. */
function renderParts(parts: readonly (TextPart | ImagePart)[]): Json[] {
  return parts
    .filter((part) => part.type === 'image' || part.text.trim() !== '')
    .map((part) => (part.type === 'text' ? { text: part.text } : { inlineData: { mimeType: part.mediaType, data: part.base64 } }));
}

/** Drops reasoning: the upstream reads it from the signatures. Of parallel calls, only the first has one. */
function renderAssistant({ parts }: AssistantTurn, inputs: ToolCallInputs, signsCalls: boolean): Json[] {
  let isFirst = true;
  return parts.flatMap((part): Json[] => {
    if (part.type === 'reasoning') return [];
    if (part.type === 'text') return renderParts([part]);
    const { id, thoughtSignature } = renderCallId(part.callId, signsCalls && isFirst);
    isFirst = false;
    return [{ functionCall: { id, name: part.wireName, args: inputs.render(part) }, thoughtSignature }];
  });
}

function renderToolResults({ results }: ToolTurn, names: ReadonlyMap<string, string>): Json[] {
  return results.map(({ callId, parts, isError }) => {
    const text = parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
    const { id } = renderCallId(callId, false);
    return { functionResponse: { id, name: names.get(callId) ?? id, response: isError ? { error: text } : { output: text } } };
  });
}

/** The dialect has no strict tools. */
function renderTool(tool: Tool): Json {
  const { description, parameters } = asFunction(tool);
  return { name: tool.wireName, description, parametersJsonSchema: parameters };
}

/** Omits `auto`: it is the default. */
function renderToolChoice(choice: ToolChoice | undefined): Json | undefined {
  switch (choice?.kind) {
    case undefined:
    case 'auto':
      return undefined;
    case 'none':
      return { functionCallingConfig: { mode: 'NONE' } };
    case 'required':
      return { functionCallingConfig: { mode: 'ANY' } };
    case 'tool':
      return { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: [choice.wireName] } };
  }
}
