import type { BillableUsage } from '#money/price.js';
import type { Ask, Call, ReplyEnd } from './scenario.js';

/** A reply as its client received it, independent of formats. */
export interface SeenReply {
  reasoning: string;
  text: string;
  calls: Call[];
  ending: ReplyEnd;
  /** Reported usage. Some formats report no `reasoningTokens`. */
  usage: BillableUsage & { reasoningTokens?: number };
}

export interface SeenFailure {
  /** Error code or type of the format. */
  word: string;
  /** Text before the failure. */
  text: string;
}

export interface Outcome {
  requestId: string;
  status: number;
  seen: SeenReply | SeenFailure;
  /** The reply object of the client library, without ids and times. Absent for a failure. */
  whole?: unknown;
}

/** A client of one format. */
export interface FormatClient<Body> {
  render(ask: Ask, model: string): Body;
  plain(body: Body): Promise<Outcome>;
  streamed(body: Body): Promise<Outcome>;
}

/** A `fetch` for one request, which records the head of the reply. */
export function watchedFetch(): { fetch: typeof fetch; head: { requestId: string; status: number } } {
  const head = { requestId: '', status: 0 };
  return {
    head,
    fetch: async (...request) => {
      const response = await fetch(...request);
      head.requestId = response.headers.get('x-request-id') ?? '';
      head.status = response.status;
      return response;
    },
  };
}

/** Times, and fields that the libraries add: parsed copies, and nulls for absent fields. */
const NOT_OF_THE_REPLY = new Set([
  'created',
  'created_at',
  'completed_at',
  'output_text',
  'output_parsed',
  'parsed_arguments',
  'parsed_output',
  'parsed',
  '_request_id',
]);

/** Normalizes a reply for comparison. Replaces the part of ids that is specific to this reply. */
export function comparable(reply: { id: string }, ...absentWhenNull: string[]): unknown {
  const own = reply.id.slice(reply.id.indexOf('-') + 1 || reply.id.indexOf('_') + 1);
  const text = JSON.stringify(reply, (key, value: unknown) =>
    NOT_OF_THE_REPLY.has(key) || (value === null && absentWhenNull.includes(key)) ? undefined : value,
  );
  return JSON.parse(text.replaceAll(own, '~'));
}

/** Parses arguments; returns the text if they were cut, or have numbers beyond a double. */
export function readArguments(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return JSON.stringify(value) === text ? value : text;
  } catch {
    return text;
  }
}
