import type { CacheMarker } from './dialects/messages/prompt-blocks.js';

/* The simulator's own form of a request: Chat Completions, into which the other dialects are parsed. */

export type ChatPart = { type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string } };

export interface ChatMessage {
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  content?: string | ChatPart[] | null;
  tool_calls?: { id: string; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
}

export interface ChatTool {
  type: 'function';
  function: { name: string; description?: string; parameters?: Record<string, unknown> };
}

export interface ChatRequest {
  model: string;
  messages: ChatMessage[];
  stream?: boolean | null;
  stream_options?: { include_usage?: boolean } | null;
  max_tokens?: number | null;
  max_completion_tokens?: number | null;
  stop?: string | string[] | null;
  tools?: ChatTool[] | null;
  tool_choice?: 'none' | 'auto' | 'required' | { type: 'function'; function: { name: string } } | null;
  parallel_tool_calls?: boolean | null;
  response_format?: { type: string; json_schema?: { name?: string; schema?: Record<string, unknown> } } | null;
  /** Ways to switch the model's reasoning off. */
  reasoning_effort?: unknown;
  chat_template_kwargs?: unknown;
  thinking?: unknown;
  prompt_cache_key?: string | null;
  cache_salt?: string | null;
  /** The markers of a Messages request. */
  cache_control?: readonly CacheMarker[];
}
