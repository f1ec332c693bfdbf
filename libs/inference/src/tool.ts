/** How the client knows a tool. Only Responses clients use namespaces. */
export interface ToolKey {
  name: string;
  namespace?: string;
}

export interface Tool {
  key: ToolKey;
  /** The name upstreams see: unique within the request, `[A-Za-z0-9_-]{1,64}`. */
  wireName: string;
  /** `custom` tools take one free text instead of JSON arguments. */
  kind: 'function' | 'custom';
  description?: string;
  /** JSON Schema of the arguments, as received: key order matters to prompt caches (T-47). */
  parameters?: Record<string, unknown>;
  /** Absent unless asked for. */
  strict?: boolean;
  /** A hint for custom tools, never enforced (spec 4.4). */
  grammar?: { syntax: string; definition: string };
}

export type ToolChoice = { kind: 'auto' | 'none' | 'required' } | { kind: 'tool'; wireName: string };
