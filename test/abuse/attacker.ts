import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { Agent, get, type RequestOptions } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { API_KEY_PREFIX, API_KEY_RANDOM_LENGTH, apiKeyChecksum, BASE62 } from '#contracts/api-key.js';

/*
 * The attacker: a process of its own, so that its work does not load the event loop that measures the victim. Its parent sends a list of
 * attacks, which run in parallel, and gets the counted outcomes of each. Node runs this file directly and strips its types.
 */

/**
 * One attack on the gateway at `port` of 127.0.0.1. It ends after `forMs`, whether everything was answered or not; with `repeats` it starts
 * again when everything was answered.
 */
export type Attack = { port: number; forMs: number; repeats?: boolean } & (
  | { kind: 'bodies'; model: string; apiKey: string; everyMs: number }
  | { kind: 'pipelined'; path: string; apiKey?: string; connections: number; requests: number }
  | { kind: 'unfinished-bodies'; apiKey: string; connections: number; bytesAtOnce: number }
  | { kind: 'wrong-keys'; guesses: number }
  | { kind: 'wrong-passwords'; connections: number }
  | { kind: 'reads'; path: string; headers: Record<string, string>; connections: number; pauseMs: number }
  | { kind: 'slow-readers'; model: string; apiKeys: string[]; readers: number }
);

/** Number of requests by outcome: a status (`'402'`), `'closed'` without an answer, or `'unanswered'` when the attack ended. */
export type Outcomes = Record<string, number>;

type AttackVariant<Kind extends Attack['kind']> = Extract<Attack, { kind: Kind }>;

const HOST = '127.0.0.1';

/** JSON that is slow to parse. The opening brace and the model are added to each. */
const HOSTILE_BODIES = [
  asTool(`[${'1e9999,'.repeat(900_000)}1]`),
  asTool(`[${'0.12345678901234567,'.repeat(49_000)}1]`),
  asSchema(list(600_000, (index) => `"c${index + 1_000_000}"`)),
  withFields(`"tools":[${list(90_000, (index) => tool(`t${index}`, '{}'))}]`),
  asTool(`{${list(500_000, (index) => `"k${index}":0`)}}`),
  ...Array.from({ length: 15 }, () => asTool(`[${'1e9999,'.repeat(285_000)}1]`)),
];

function list(length: number, item: (index: number) => string): string {
  return Array.from({ length }, (_, index) => item(index)).join();
}

function tool(name: string, parameters: string): string {
  return `{"type":"function","function":{"name":"${name}","parameters":${parameters}}}`;
}

function asTool(choices: string): string {
  return withFields(`"tools":[${tool('pick', `{"type":"object","x":${choices}}`)}]`);
}

function asSchema(choices: string): string {
  return withFields(
    `"response_format":{"type":"json_schema","json_schema":{"name":"pick","schema":{"type":"string","enum":[${choices}]}}}`,
  );
}

function withFields(fields: string): string {
  return `"max_tokens":16,"messages":[{"role":"user","content":"Hello"}],${fields}}`;
}

const attacks: { [Kind in Attack['kind']]: (attack: AttackVariant<Kind>, tally: Tally) => Promise<void> } = {
  /** Sends every hostile body once, each on a connection of its own. */
  bodies: async ({ port, model, apiKey, everyMs }, tally) => {
    const requests: Promise<void>[] = [];
    for (const body of HOSTILE_BODIES) {
      if (tally.ended) break;
      const socket = tally.open(port, 1);
      const start = `{"model":"${model}",`;
      socket.write(post(apiKey, start.length + body.length) + start);
      socket.write(body);
      requests.push(socket.answered.then(() => void socket.destroy()));
      await delay(everyMs);
    }
    await Promise.all(requests);
  },

  /** Sends all requests of a connection in one write. */
  pipelined: async ({ port, path, apiKey, connections, requests }, tally) => {
    const authorization = apiKey === undefined ? '' : `authorization: Bearer ${apiKey}\r\n`;
    const each = requests / connections;
    const text = `GET ${path} HTTP/1.1\r\nhost: x\r\n${authorization}\r\n`.repeat(each);
    const sockets = Array.from({ length: connections }, () => tally.open(port, each));
    for (const socket of sockets) socket.write(text);
    await Promise.all(sockets.map(({ answered }) => answered));
  },

  /** Sends bodies that start with `bytesAtOnce` and continue in small pieces without end, to fill the budget for bodies. */
  'unfinished-bodies': async ({ port, apiKey, connections, bytesAtOnce }, tally) => {
    const start = `{"user":"${'a'.repeat(bytesAtOnce)}`;
    const piece = 'a'.repeat(2_000);
    const sockets = Array.from({ length: connections }, () => tally.open(port, 1));
    for (const socket of sockets) {
      socket.write(post(apiKey, BODY_BYTES_MAX));
      socket.write(start);
    }
    const timer = setInterval(() => {
      for (const socket of sockets) if (socket.writable && socket.writableLength < piece.length) socket.write(piece);
    }, 50);
    await Promise.all(sockets.map(({ answered }) => answered)).finally(() => clearInterval(timer));
  },

  /** Tries keys with a correct checksum that were never issued, at an even pace, fifty at a time. */
  'wrong-keys': async ({ port, guesses, forMs }, tally) => {
    const agent = new Agent({ keepAlive: true, maxSockets: GUESSES_AT_ONCE });
    const everyMs = (forMs / guesses) * GUESSES_AT_ONCE;
    let left = guesses;
    const work = async (): Promise<void> => {
      while (left-- > 0 && !tally.ended) {
        const headers = { authorization: `Bearer ${anyKey()}` };
        await Promise.all([delay(everyMs), guess({ host: HOST, port, path: '/v1/models', headers, agent }, tally)]);
      }
    };
    await Promise.all(Array.from({ length: GUESSES_AT_ONCE }, work));
    agent.destroy();
  },

  /** Repeats a GET on many connections, with another `from` each time, and pauses for `pauseMs` after a refusal. */
  reads: async ({ port, path, headers, connections, pauseMs }, tally) => {
    const agent = new Agent({ keepAlive: true, maxSockets: connections });
    let sent = 0;
    const work = async (): Promise<void> => {
      while (!tally.ended) {
        const from = new Date(Date.now() - DAY_MS - sent++).toISOString();
        const status = await guess({ host: HOST, port, path: `${path}&from=${from}`, headers, agent }, tally);
        if (status !== 200) await delay(pauseMs);
      }
    };
    await Promise.all(Array.from({ length: connections }, work));
    agent.destroy();
  },

  /** Tries passwords for ever other people of the panel, one after the other on each connection. */
  'wrong-passwords': async ({ port, connections }, tally) => {
    const work = async (connection: number): Promise<void> => {
      for (let guess = 0; !tally.ended; guess++) {
        const body = JSON.stringify({ email: `stranger-${connection}-${guess}@example.com`, password: 'a loud purple mountain' });
        const socket = tally.open(port, 1);
        socket.write(
          `POST /panel/v1/session HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
        );
        await socket.answered;
        socket.destroy();
      }
    };
    await Promise.all(Array.from({ length: connections }, (_, connection) => work(connection)));
  },

  /** Opens streams and reads only their heads. */
  'slow-readers': async ({ port, model, apiKeys, readers }, tally) => {
    const content = '[[sim tokens=4000 rate=20 pad=2000]]';
    const body = JSON.stringify({ model, stream: true, max_tokens: 8_000, messages: [{ role: 'user', content }] });
    const sockets: Connection[] = [];
    for (let index = 0; index < readers; index++) {
      const socket = tally.open(port, 1);
      socket.write(post(apiKeys[index % apiKeys.length] ?? '', body.length) + body);
      socket.once('data', () => socket.pause());
      sockets.push(socket);
      if (index % 50 === 49) await delay(100);
    }
    await Promise.all([...sockets.map(({ answered }) => answered), tally.end]);
  },
};

const DAY_MS = 86_400_000;
const GUESSES_AT_ONCE = 50;
/** Default limit of the gateway. */
const BODY_BYTES_MAX = 8 * 1024 * 1024;

function post(apiKey: string, length: number): string {
  return (
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${apiKey}\r\n` +
    `content-type: application/json\r\ncontent-length: ${length}\r\n\r\n`
  );
}

function anyKey(): string {
  const body = API_KEY_PREFIX + Array.from({ length: API_KEY_RANDOM_LENGTH }, () => BASE62.charAt(randomInt(BASE62.length))).join('');
  return body + apiKeyChecksum(body);
}

/** Counts the answer, and resolves with its status; undefined without one. */
function guess(options: RequestOptions, tally: Tally): Promise<number | undefined> {
  return new Promise((resolve) => {
    const request = get(options, (response) => {
      tally.add(String(response.statusCode));
      response.resume().once('close', () => resolve(response.statusCode));
    });
    request.once('error', () => {
      tally.add('closed');
      resolve(undefined);
    });
  });
}

/** `answered` resolves when every request was answered, or when the connection is closed. */
type Connection = Socket & { answered: Promise<void> };

const STATUS_LINE = /HTTP\/1\.1 (\d{3})/g;

/** Counts the answers to one attack, and closes its connections at the end. */
class Tally {
  readonly outcomes: Outcomes = {};
  ended = false;
  readonly end: Promise<void>;
  private readonly sockets = new Set<Socket>();

  constructor(forMs: number) {
    this.end = delay(forMs).then(() => this.close());
  }

  add(outcome: string, count = 1): void {
    if (count > 0) this.outcomes[outcome] = (this.outcomes[outcome] ?? 0) + count;
  }

  /** Opens a connection for `expected` requests. */
  open(port: number, expected: number): Connection {
    const socket = connect(port, HOST);
    this.sockets.add(socket);
    let left = expected;
    let tail = '';
    const answered = new Promise<void>((resolve) => {
      socket.on('data', (bytes) => {
        const text = tail + bytes.toString('latin1');
        for (const [, status = ''] of text.matchAll(STATUS_LINE)) this.add(left-- > 0 ? status : 'one answer too many');
        tail = text.slice(-11);
        if (left <= 0) resolve();
      });
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.sockets.delete(socket);
        this.add(this.ended ? 'unanswered' : 'closed', left);
        resolve();
      });
    });
    return Object.assign(socket, { answered });
  }

  /** Resolves when every connection is closed. */
  async close(): Promise<void> {
    this.ended = true;
    await Promise.all(
      [...this.sockets].map((socket) => {
        const closed = once(socket, 'close');
        socket.destroy();
        return closed;
      }),
    );
  }
}

async function run(attack: Attack): Promise<Outcomes> {
  const tally = new Tally(attack.forMs);
  const attackOnce = (): Promise<void> => Promise.race([attacks[attack.kind](attack as never, tally), tally.end]);
  do await attackOnce();
  while (attack.repeats && !tally.ended);
  await tally.close();
  return tally.outcomes;
}

process.on('message', (all: Attack[]) => {
  void Promise.all(all.map(run)).then((outcomes) => process.send?.(outcomes));
});
process.on('disconnect', () => process.exit());
process.send?.('ready');
