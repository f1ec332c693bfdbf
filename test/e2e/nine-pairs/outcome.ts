import type { BillableUsage } from '#money/price.js';
import type { Ask, Call, Ending } from './scenario.js';

/** What a client has got, in no format's words. */
export interface SeenReply {
  reasoning: string;
  text: string;
  calls: Call[];
  ending: Ending;
  /** As the reply tells it. `reasoningTokens` is absent where a format does not. */
  usage: BillableUsage & { reasoningTokens?: number };
}

export interface SeenFailure {
  /** The format's own word for it. */
  word: string;
  /** What had come before. */
  text: string;
}

export interface Outcome {
  requestId: string;
  status: number;
  seen: SeenReply | SeenFailure;
  /** The reply as the client's library has it, without what is of this one request. Absent when it failed. */
  whole?: unknown;
}

/** One client that speaks one format. */
export interface FormatClient<Body> {
  render(ask: Ask, model: string): Body;
  plain(body: Body): Promise<Outcome>;
  streamed(body: Body): Promise<Outcome>;
}

/** A `fetch` for one request of an official client, and what the reply's head said. */
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

/** Times, and what the libraries add on their own: parsed copies, and nulls for what was not sent. */
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

/** A reply such that two of them compare. Ids stay, but for the part that is of this one reply. */
export function comparable(reply: { id: string }, ...absentWhenNull: string[]): unknown {
  const own = reply.id.slice(reply.id.indexOf('-') + 1 || reply.id.indexOf('_') + 1);
  const text = JSON.stringify(reply, (key, value: unknown) =>
    NOT_OF_THE_REPLY.has(key) || (value === null && absentWhenNull.includes(key)) ? undefined : value,
  );
  return JSON.parse(text.replaceAll(own, '~'));
}

/** Arguments as an object; as text when they were cut, or are more than JavaScript's numbers can say. */
export function readArguments(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return JSON.stringify(value) === text ? value : text;
  } catch {
    return text;
  }
}
