import { NO_REASONING, outputInstruction } from './added-texts.js';
import { addInputs, type EmbeddingSize } from './embedding-size.js';
import type { InferenceRequest } from './request.js';
import { splitCallId } from './signed-call-id.js';
import type { Tool } from './tool.js';
import type { Turn } from './turn.js';

/**
 * The size of a prompt, measured once for each request: the hold, the context check and every estimate are computed from it. Bytes are
 * those of texts in UTF-8 as the model gets them, without JSON around them and without escapes.
 */
export interface PromptSize {
  /** Bytes that every upstream gets: texts, tool calls and results of the turns, and the tools with their schemas. */
  textBytes: number;
  /** Bytes of the output's JSON Schema in an instruction. Some upstreams get it, some less, and others nothing. */
  schemaBytes: number;
  /** Bytes of earlier reasoning, and of what stands for it where the client kept none. Only upstreams with `reasoningEcho` get it. */
  reasoningBytes: number;
  /** Bytes of the signatures of earlier reasoning, in the ids of calls. Only the upstream that made them gets them. */
  signatureBytes: number;
  images: number;
  /** Bytes of each image. Absent: there is none. */
  imageBytes?: number[];
  /** Set when the request is for embeddings. The texts of its inputs count in `textBytes`. */
  embedding?: EmbeddingSize;
}

export function measurePrompt({
  turns,
  tools,
  output,
  embedding,
}: Pick<InferenceRequest, 'turns' | 'tools' | 'output' | 'embedding'>): PromptSize {
  const size: PromptSize = {
    textBytes: 0,
    schemaBytes: Buffer.byteLength(outputInstruction(output)),
    reasoningBytes: 0,
    signatureBytes: 0,
    images: 0,
  };
  for (const turn of turns) addTurn(turn, size);
  for (const tool of tools) size.textBytes += measureTool(tool);
  if (embedding) size.embedding = addInputs(embedding, size);
  return size;
}

/** The most bytes that an upstream of a model gets. `reasoningEcho`: one of them gets earlier reasoning. */
export function promptBytesMax({ textBytes, schemaBytes, reasoningBytes, signatureBytes }: PromptSize, reasoningEcho: boolean): number {
  return textBytes + schemaBytes + signatureBytes + (reasoningEcho ? reasoningBytes : 0);
}

function addTurn(turn: Turn, size: PromptSize): void {
  if (turn.role === 'assistant' && !turn.parts.some(isReasoning)) size.reasoningBytes += NO_REASONING.length;
  if (turn.role !== 'tool') addParts(turn.parts, size);
  else for (const { parts } of turn.results) addParts(parts, size);
}

function isReasoning(part: Part): boolean {
  return part.type === 'reasoning' && part.text !== '';
}

type Part = Exclude<Turn, { role: 'tool' }>['parts'][number];

function addParts(parts: readonly Part[], size: PromptSize): void {
  for (const part of parts) {
    switch (part.type) {
      case 'text':
        size.textBytes += measureText(part.text);
        break;
      case 'tool-call':
        size.textBytes += Buffer.byteLength(part.wireName) + Buffer.byteLength(part.argumentsText);
        size.signatureBytes += splitCallId(part.callId).signature?.length ?? 0;
        break;
      case 'reasoning':
        size.reasoningBytes += Buffer.byteLength(part.text);
        break;
      case 'image':
        size.images += 1;
        size.imageBytes ??= [];
        size.imageBytes.push(Buffer.byteLength(part.base64, 'base64'));
    }
  }
}

/** A text of only white space counts nothing, because the Messages dialect cannot send it. */
function measureText(text: string): number {
  return text.trim() === '' ? 0 : Buffer.byteLength(text);
}

function measureTool({ wireName, description = '', parameters, grammar }: Tool): number {
  const schema = parameters === undefined ? '' : JSON.stringify(parameters);
  return [wireName, description, schema, grammar?.definition ?? ''].reduce((bytes, text) => bytes + Buffer.byteLength(text), 0);
}
