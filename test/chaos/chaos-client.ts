import type { BillableUsage, Price } from '#money/price.js';
import type { Random } from '../simulation/random.js';
import { type Ask, CLIENT_FORMATS, type Fields, type FormatName, readData } from './client-format.js';
import { STEPS_ABOVE, TIERS } from './price-changes.js';

/** Outcome of a request for its client. */
type Outcome =
  /** Complete reply with its usage. */
  | { kind: 'completed'; usage: BillableUsage }
  /** HTTP error. */
  | { kind: 'refused'; status: number; code: string; message: string }
  /** Error inside the stream. */
  | { kind: 'failed' }
  /** Connection broken or refused. */
  | { kind: 'broken' }
  /** The client disconnected. */
  | { kind: 'left' };

/** Terms that an estimate has signed for a request. */
export interface Quote {
  /** Value of `x-tollgate-quote`. */
  text: string;
  price: Price;
  amount: bigint;
}

/** One request, and the observations of its client. */
export interface Story {
  name: string;
  /** `child` is the id of `apiKey`, where that is a child key of the key. */
  key: { keyId: string; apiKey: string; child?: string };
  gatewayUrl: string;
  format: FormatName;
  ask: Ask;
  /** Tokens of the reply without faults. */
  outputTokens: number;
  /** Time at which the client disconnects, if it does. */
  leaveMs: number | undefined;
  /** Absent: the client has none. */
  quote?: Quote;
  beganAt: number;
  endedAt: number;
  requestId: string | undefined;
  outcome: Outcome;
  /** Bytes of text, reasoning and arguments that the client received. */
  bytesSeen: number;
}

const PATIENCE_MS = 25_000;
/** Sizes of prompts that the upstream reports: next to the steps of a price. */
const PROMPT_SIZES = STEPS_ABOVE.flatMap((above) => [above - 1, above, above + 1]);
const USERS = 8;
const TEAMS = 3;
const SESSIONS = 6;

/** A random request: its kind, pace, upstream fault and disconnect. */
export function anyRequest(random: Random, name: string, key: Story['key'], gatewayUrl: string): Story {
  const whole = (least: number, most: number): number => Math.floor(random.between(least, most + 1));
  const kind = random.pick(['words', 'words', 'words', 'reasoning', 'cached', 'tool', 'status', 'cut', 'error', 'leaver', 'leaver']);
  const tokens = kind === 'leaver' ? whole(100, 400) : whole(3, 80);
  const pace = `rate=${whole(30, 150)} ttft=${random.pick([0, 0, 20, 200, 600])}`;
  const directives: Record<string, string> = {
    cached: ` cached=${whole(1, 5)} written=${whole(1, 3)} written-1h=${whole(1, 2)}`,
    status: ' status=500',
    cut: ` cut=${whole(0, tokens - 1)}`,
    error: ` error=${whole(0, tokens - 1)}`,
  };
  const served =
    (random.chance(0.5) ? ` prompt=${random.pick(PROMPT_SIZES)}` : '') + (random.chance(0.5) ? ` tier=${random.pick(TIERS)}` : '');
  const isTool = kind === 'tool';
  const said = isTool
    ? 'call weigh {"kilograms": 12345678901234567890}'
    : `[[sim tokens=${tokens} ${pace}${directives[kind ?? ''] ?? ''}${served}]]`;
  return story(name, key, gatewayUrl, {
    format: random.pick(Object.keys(CLIENT_FORMATS) as FormatName[]) ?? 'chat',
    ask: {
      model: kind === 'reasoning' ? 'sim-reason' : 'sim-fast',
      text: `${name} ${'word '.repeat(whole(0, 30))}${said}`,
      stream: random.chance(0.6),
      outputTokensMax: 500,
      withTool: isTool,
      user: `user-${whole(0, USERS - 1)}`,
      tags: `team=team-${whole(0, TEAMS - 1)}`,
      session: `run-${whole(0, SESSIONS - 1)}`,
    },
    outputTokens: isTool ? 10 : tokens + (kind === 'reasoning' ? 16 : 0),
    leaveMs: kind === 'leaver' ? whole(0, 1_500) : undefined,
  });
}

/** A user, a session and a team of the requests, for a crawl. */
export function anyAttribution(random: Random): Record<string, string> {
  const one = (count: number): number => Math.floor(random.between(0, count));
  return { user: `user-${one(USERS)}`, session: `run-${one(SESSIONS)}`, 'tag:team': `team-${one(TEAMS)}` };
}

/** A short request without faults. */
export function plainRequest(name: string, key: Story['key'], gatewayUrl: string): Story {
  const ask = { model: 'sim-fast', text: `${name} [[sim tokens=5]]`, stream: false, outputTokensMax: 20, withTool: false };
  return story(name, key, gatewayUrl, { format: 'chat', ask, outputTokens: 5, leaveMs: undefined });
}

/** A request without faults, of 20 tokens a second. */
export function pacedRequest(
  name: string,
  key: Story['key'],
  gatewayUrl: string,
  { format, stream, tokens }: { format: FormatName; stream: boolean; tokens: number },
): Story {
  const ask = { model: 'sim-fast', text: `${name} [[sim tokens=${tokens} rate=20]]`, stream, outputTokensMax: 100, withTool: false };
  return story(name, key, gatewayUrl, { format, ask, outputTokens: tokens, leaveMs: undefined });
}

function story(
  name: string,
  key: Story['key'],
  gatewayUrl: string,
  rest: Pick<Story, 'format' | 'ask' | 'outputTokens' | 'leaveMs'>,
): Story {
  return { name, key, gatewayUrl, ...rest, beganAt: 0, endedAt: 0, requestId: undefined, outcome: { kind: 'broken' }, bytesSeen: 0 };
}

/** Runs the request and records its outcome. Never throws. */
export async function tell(story: Story): Promise<void> {
  const { ask, format, key, gatewayUrl } = story;
  const { path, body } = CLIENT_FORMATS[format];
  const leaving = new AbortController();
  const timer = setTimeout(() => leaving.abort(), story.leaveMs ?? PATIENCE_MS);
  story.beganAt = performance.now();
  try {
    const response = await fetch(gatewayUrl + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key.apiKey}`,
        'content-type': 'application/json',
        ...(ask.tags === undefined ? {} : { 'x-tollgate-tags': ask.tags }),
        ...(ask.session === undefined ? {} : { 'x-session-id': ask.session }),
        ...(story.quote && { 'x-tollgate-quote': story.quote.text }),
        ...(ask.sessionBudget === undefined ? {} : { 'x-tollgate-session-budget': ask.sessionBudget }),
      },
      body: JSON.stringify(body(ask)),
      signal: leaving.signal,
    });
    story.requestId = response.headers.get('x-request-id') ?? undefined;
    if (response.status !== 200) story.outcome = { kind: 'refused', status: response.status, ...(await readError(response)) };
    else if (ask.stream) await readStream(story, response);
    else story.outcome = { kind: 'completed', usage: CLIENT_FORMATS[format].readUsage(await response.json()) };
  } catch {
    if (story.outcome.kind !== 'failed') story.outcome = { kind: leaving.signal.aborted ? 'left' : 'broken' };
  } finally {
    clearTimeout(timer);
    story.endedAt = performance.now();
  }
}

async function readError(response: Response): Promise<{ code: string; message: string }> {
  const { error } = (await response.json()) as Fields;
  return { code: error.code ?? error.type, message: error.message };
}

async function readStream(story: Story, response: Response): Promise<void> {
  const { readEvent } = CLIENT_FORMATS[story.format];
  const decoder = new TextDecoder();
  let pending = '';
  let usage: BillableUsage | undefined;
  let isComplete = false;
  for await (const piece of response.body ?? []) {
    pending += decoder.decode(piece, { stream: true });
    for (const data of readData(pending)) {
      if (data === '[DONE]') {
        isComplete = true;
        continue;
      }
      const seen = readEvent(JSON.parse(data));
      story.bytesSeen += Buffer.byteLength(seen.text ?? '');
      usage = seen.usage ?? usage;
      if (seen.ended === 'complete') isComplete = true;
      if (seen.ended === 'failed') story.outcome = { kind: 'failed' };
    }
    const whole = pending.lastIndexOf('\n\n');
    if (whole >= 0) pending = pending.slice(whole + 2);
  }
  if (isComplete && usage && story.outcome.kind !== 'failed') story.outcome = { kind: 'completed', usage };
}
