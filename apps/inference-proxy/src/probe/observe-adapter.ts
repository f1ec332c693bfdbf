import type { UpstreamAdapter } from '../upstreams/upstream-adapter.js';

/** Facts about a reply that an adapter does not pass on. */
export interface Observation {
  /** HTTP status of a reply that was not 200. */
  status?: number;
  /** Field or event in which reasoning first came. */
  reasoningField?: string;
}

/** Returns the adapter with observation: it records into `seen` what passes through. */
export function observeAdapter(adapter: UpstreamAdapter, seen: Observation): UpstreamAdapter {
  const note = (payload: string): void => {
    seen.reasoningField ??= findReasoningField(payload);
  };
  return {
    ...adapter,
    parseReply: (body, call, events) => {
      note(body);
      adapter.parseReply(body, call, events);
    },
    openStream: (call) => {
      const parser = adapter.openStream(call);
      const push = parser.push.bind(parser);
      parser.push = (payload, events) => {
        note(payload);
        push(payload, events);
      };
      return parser;
    },
    parseError: (reply, call) => {
      seen.status = reply.status;
      return adapter.parseError(reply, call);
    },
  };
}

/** Places in which the dialects put reasoning: text fields, and types of events or items. */
const FIELDS =
  /"(reasoning_content|reasoning_details|reasoning|thinking|thought|reasoningContent)":\s*(?:"[^"]|\[\s*\{|true|\{"(?:text|reasoningText)":)/;
const TYPES = /"type":\s*"response\.(reasoning_summary_text|reasoning_text)\.delta"|"type":\s*"(summary_text|reasoning_text)"/;

/** Returns the name of the reasoning field or event in this payload; undefined when it has none. */
export function findReasoningField(payload: string): string | undefined {
  const type = TYPES.exec(payload);
  return type?.[1] ?? type?.[2] ?? FIELDS.exec(payload)?.[1];
}
