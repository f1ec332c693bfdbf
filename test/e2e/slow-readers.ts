import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { DIALECT_STREAMS } from '#testing/dialect-streams.js';
import { chunked, type Fault, FaultServer, LAST_CHUNK, replyHead } from '#testing/fault-server.js';
import { CLIENT_FORMATS, type FormatName } from '../chaos/client-format.js';
import { FaultStack } from './fault-stack.js';

const { opening, text, ending } = DIALECT_STREAMS['openai-chat'];

/**
 * A system with the model `flood`, served by `server`. Clients that read nothing for `drainMs` are disconnected. `variables` are further
 * ones of the services.
 */
export async function startFlood(
  drainMs: number,
  variables: Partial<Record<'gateway' | 'inference-proxy', Record<string, string>>> = {},
): Promise<{ stack: FaultStack; server: FaultServer }> {
  const settings = {
    layout: 'split' as const, // the memory of each process is measured
    serviceEnv: {
      gateway: { DRAIN_MS: String(drainMs), ...variables.gateway },
      'inference-proxy': { QUEUE_WAIT_MS: '0', ...variables['inference-proxy'] },
    },
  };
  const [stack, server] = await Promise.all([FaultStack.start(settings), FaultServer.start()]);
  const baseUrl = `http://127.0.0.1:${server.port}/v1`;
  await stack.offer([{ id: 'flood', kind: 'openai-chat', baseUrl, allowPrivateNetwork: true, connectionsMax: 4_096 }]);
  return { stack, server };
}

/** An upstream that sends content as fast as it is read, up to a bound, and counts the bytes. */
export class FloodingUpstream {
  readonly streams: { bytes: number; closedAt: number | undefined }[] = [];
  private readonly event: string;
  private readonly events: number;

  constructor(
    private readonly textBytes: number,
    textBytesMax: number,
  ) {
    this.event = chunked(text('x'.repeat(textBytes)));
    this.events = Math.ceil(textBytesMax / textBytes);
  }

  /** Largest text of a reply. */
  get textBytesMax(): number {
    return this.events * this.textBytes;
  }

  readonly fault: Fault = ({ socket }) => {
    const stream = { bytes: 0, closedAt: undefined as number | undefined };
    this.streams.push(stream);
    socket.write(replyHead() + chunked(opening));
    let left = this.events;
    const go = (): void => {
      while (left-- > 0 && !socket.destroyed) if (!socket.write(this.event)) return;
      socket.off('drain', go);
      if (!socket.destroyed) socket.end(chunked(ending) + LAST_CHUNK);
    };
    socket.on('drain', go);
    socket.on('close', () => Object.assign(stream, { closedAt: performance.now(), bytes: socket.bytesWritten }));
    go();
  };

  get openStreams(): number {
    return this.streams.filter(({ closedAt }) => closedAt === undefined).length;
  }
}

/** A client that reads the start of its reply, and more only on demand. */
export class SlowReader {
  received = 0;
  requestId = '';
  closedAt: number | undefined;
  /** The end of the reply was received. */
  isWhole = false;

  private constructor(private readonly socket: Socket) {
    socket.on('error', () => {});
    socket.on('close', () => (this.closedAt = performance.now()));
  }

  static async open(
    { facts, tenant }: FaultStack,
    model: string,
    outputTokensMax: number,
    format: FormatName = 'chat',
  ): Promise<SlowReader> {
    const { hostname, port } = new URL(facts.gatewayUrl);
    const socket = connect(Number(port), hostname);
    const reader = new SlowReader(socket);
    const { path, body } = CLIENT_FORMATS[format];
    const json = JSON.stringify(body({ model, text: 'Hello', stream: true, outputTokensMax, withTool: false }));
    const head = `POST ${path} HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${tenant.apiKey}\r\ncontent-type: application/json\r\n`;
    socket.write(`${head}content-length: ${Buffer.byteLength(json)}\r\n\r\n${json}`);
    const [first] = (await once(socket, 'data')) as [Buffer];
    socket.pause();
    reader.received = first.length;
    const text = first.toString('latin1');
    if (!text.startsWith('HTTP/1.1 200')) throw new Error(text.slice(0, 500));
    reader.requestId = /^x-request-id: (\S+)/im.exec(text)?.[1] ?? '';
    return reader;
  }

  /** Reads up to `bytes`. */
  sip(bytes: number): void {
    const taken = (this.socket.read(bytes) ?? this.socket.read()) as Buffer | null;
    this.received += taken?.length ?? 0;
  }

  /** Reads the rest, until the end of the stream or of the connection. */
  async drink(): Promise<void> {
    let tail = '';
    this.socket.on('data', (bytes: Buffer) => {
      this.received += bytes.length;
      tail = (tail + bytes.toString('latin1')).slice(-100);
      if (tail.includes('[DONE]')) this.socket.destroy();
    });
    this.socket.resume();
    await once(this.socket, 'close');
    this.isWhole = tail.includes('[DONE]');
  }

  leave(): void {
    this.socket.destroy();
  }
}

/** Resident bytes of the processes that a stream passes through. */
export async function residentBytes({ facts }: FaultStack): Promise<{ gateway: number; proxy: number; nats: number }> {
  const of = async (service: 'gateway' | 'inference-proxy'): Promise<number> => {
    const metrics = await (await fetch(`${facts.opsUrls[service]}/metrics`)).text();
    return Number(/^process_resident_memory_bytes (\S+)/m.exec(metrics)?.[1]);
  };
  const [gateway, proxy, status] = await Promise.all([
    of('gateway'),
    of('inference-proxy'),
    readFile(`/proc/${facts.pid('nats')}/status`, 'utf8').catch(() => ''), // Linux only
  ]);
  return { gateway, proxy, nats: Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1024 };
}

export async function until(holds: () => boolean | Promise<boolean>, deadlineMs: number): Promise<void> {
  for (const deadline = performance.now() + deadlineMs; !(await holds()); ) {
    if (performance.now() > deadline) throw new Error(`not within ${deadlineMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
