import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import type { FinishReason, StreamEvent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';
import type { Quote } from '../../pipeline/quote.js';
import type { Reply } from '../../pipeline/reply.js';
import type { Encoding } from '../../protocols/embeddings/request.dto.js';
import { renderEmbeddings } from '../../protocols/embeddings/response.js';
import type { HttpExchange } from '../http-exchange.js';
import { showUsage } from './reply-cost.js';
import { writeJson, writeJsonHead } from './write-reply.js';

/** Bytes of one number of a vector while it is held: as a number, and less in base64. */
const NUMBER_BYTES = 8;

interface EmbeddingReplyOptions {
  encoding: Encoding;
  /** The model id of the request. */
  model: string;
  /** Milliseconds after which a client that does not read is disconnected. */
  drainMs: number;
  /** Takes memory for the vectors, until the returned function is called. */
  reserve(bytes: number): () => void;
}

/** Collects the vectors of a reply, and writes them when the request is settled. */
export class EmbeddingReply implements Reply {
  private readonly vectors: (string | number[])[] = [];
  private usage: Usage | undefined;
  private release = (): void => undefined;

  constructor(
    private readonly exchange: HttpExchange,
    private readonly response: ServerResponse,
    private readonly options: EmbeddingReplyOptions,
  ) {}

  get stopped(): AbortSignal {
    return this.exchange.stopped;
  }

  prepare({ embedding }: Quote): void {
    if (embedding) this.release = this.options.reserve(embedding.inputs * embedding.dimensions * NUMBER_BYTES);
  }

  send(batch: readonly StreamEvent[]): undefined {
    for (const event of batch) {
      if (event.type !== 'embedding-delta') continue;
      this.exchange.firstContentAt ??= performance.now();
      this.vectors.push(...event.vectors);
    }
  }

  finish(_reason: FinishReason, usage: Usage): void {
    this.usage = usage;
  }

  /** Writes a finished reply, a large one in pieces with other work between them. Returns when it is written or the client has left. */
  async write(): Promise<void> {
    const { exchange, response, stopped, usage } = this;
    if (usage === undefined || response.destroyed) return;
    const { encoding, model, drainMs } = this.options;
    const pieces = renderEmbeddings({ encoding, model, vectors: this.vectors, usage: showUsage(exchange, usage) });
    let piece = pieces.next();
    let next = pieces.next();
    if (next.done) return writeJson(exchange, response, piece.value ?? '');
    writeJsonHead(exchange, response);
    response.setTimeout(drainMs, () => response.destroy());
    try {
      for (; !next.done; piece = next, next = pieces.next()) {
        if (response.write(piece.value)) await setImmediate();
        else await once(response, 'drain', { signal: stopped });
      }
      response.end(piece.value);
    } catch {
      response.destroy(); // the client has left
    }
  }

  /** Call it at the end of every request. */
  close(): void {
    this.release();
  }
}
