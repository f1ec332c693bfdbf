import type { ToolKey } from './tool.js';

export interface TextPart {
  type: 'text';
  text: string;
}

export type ImageMediaType = 'image/png' | 'image/jpeg' | 'image/webp' | 'image/gif';

export interface ImagePart {
  type: 'image';
  mediaType: ImageMediaType;
  base64: string;
  detail?: string;
}

/** Reasoning of an earlier turn. Sent only to upstreams that require it. */
interface ReasoningPart {
  type: 'reasoning';
  text: string;
}

export interface ToolCallPart {
  type: 'tool-call';
  callId: string;
  tool: ToolKey;
  wireName: string;
  /** JSON text exactly as received (`""` becomes `"{}"`), or the raw text of a custom tool's input. */
  argumentsText: string;
  kind: 'function' | 'custom';
}

export interface ToolResult {
  callId: string;
  parts: (TextPart | ImagePart)[];
  isError?: boolean;
}

export interface SystemTurn {
  role: 'system';
  parts: TextPart[];
  name?: string;
}

export interface UserTurn {
  role: 'user';
  parts: (TextPart | ImagePart)[];
  name?: string;
}

export interface AssistantTurn {
  role: 'assistant';
  parts: (TextPart | ReasoningPart | ToolCallPart)[];
}

/** One turn holds consecutive results, so that nothing can come between them. */
export interface ToolTurn {
  role: 'tool';
  results: ToolResult[];
}

export type Turn = SystemTurn | UserTurn | AssistantTurn | ToolTurn;
