/** Name of a tool for the client. Only Responses clients use namespaces. */
export interface ToolKey {
  name: string;
  namespace?: string;
}

export interface Tool {
  key: ToolKey;
  /** Name of the tool for upstreams: unique within the request, `[A-Za-z0-9_-]{1,64}`. */
  wireName: string;
  /** A `custom` tool takes one text instead of JSON arguments. */
  kind: 'function' | 'custom';
  description?: string;
  /** JSON Schema of the arguments as received, because prompt caches depend on the order of keys. */
  parameters?: Record<string, unknown>;
  strict?: boolean;
  /** A hint for custom tools, never enforced. */
  grammar?: { syntax: string; definition: string };
}

export type ToolChoice = { kind: 'auto' | 'none' | 'required' } | { kind: 'tool'; wireName: string };
