import type { UpstreamAdapter } from '../upstreams/upstream-adapter.js';

/** What an adapter hides, because nobody else needs it. */
export interface Observation {
  /** Of a reply that was not 200. */
  status?: number;
  /** Where reasoning came first. */
  reasoningField?: string;
}

/** The same adapter; what passes through it is noted. */
export function observeAdapter(adapter: UpstreamAdapter, seen: Observation): UpstreamAdapter {
  const note = (payload: string): void => {
    seen.reasoningField ??= findReasoningField(payload);
  };
  return {
    kind: adapter.kind,
    withoutStop: adapter.withoutStop,
    ...(adapter.takesStop && { takesStop: (sequence: string) => adapter.takesStop?.(sequence) ?? true }),
    renderRequest: (call, apiKey) => adapter.renderRequest(call, apiKey),
    parseReply: (body, call, events) => {
      note(body);
      adapter.parseReply(body, call, events);
    },
    openStream: (call) => {
      const parser = adapter.openStream(call);
      return {
        get done() {
          return parser.done;
        },
        push: (payload, events) => {
          note(payload);
          parser.push(payload, events);
        },
        end: (events) => parser.end(events),
      };
    },
    parseError: (reply, call) => {
      seen.status = reply.status;
      return adapter.parseError(reply, call);
    },
  };
}

/** Where the three dialects put reasoning: fields of texts, and types of events or items. */
const FIELDS = /"(reasoning_content|reasoning_details|reasoning|thinking)":\s*(?:"[^"]|\[\s*\{)/;
const TYPES = /"type":\s*"response\.(reasoning_summary_text|reasoning_text)\.delta"|"type":\s*"(summary_text|reasoning_text)"/;

/** Undefined when there is none in this payload. */
export function findReasoningField(payload: string): string | undefined {
  const type = TYPES.exec(payload);
  return type?.[1] ?? type?.[2] ?? FIELDS.exec(payload)?.[1];
}
