export interface Reply {
  status: number;
  body?: unknown;
  /** Server-sent events instead of a body, and the gateway's id of the request. */
  events?: { texts: string[]; requestId?: string | undefined };
}

interface Call {
  /** The groups of the path's pattern. */
  parts: string[];
  query: URLSearchParams;
  body: Record<string, unknown>;
}

export type Endpoint = [method: string, path: RegExp, reply: (call: Call) => Reply];

export const ok = (body: unknown): Reply => ({ status: 200, body });
