import type { ServerResponse } from 'node:http';
import { GatewayError } from '#inference/errors.js';
import type { InferenceCall, InferenceRecord, InferenceServices } from '../../pipeline/inference-call.js';
import { digestBody, QUOTE_HEADER, type Quotes } from '../../pipeline/quotes.js';
import type { Reply } from '../../pipeline/reply.js';
import { runInference } from '../../pipeline/run-inference.js';
import { EMBEDDINGS } from '../../protocols/embeddings/format.js';
import type { ParsedRequest, ProtocolAdapter } from '../../protocols/protocol-adapter.js';
import { readAttribution, readSessionLimit } from '../attribution.js';
import type { BodyParser } from '../bodies/body-parser.js';
import type { BodyFormat } from '../bodies/parse-large-body.js';
import type { BodyReader } from '../bodies/read-body.js';
import { type GatewayRequest, requireCaller } from '../http-exchange.js';
import { readMaxCost } from '../max-cost-header.js';
import { EmbeddingReply } from '../replies/embedding-reply.js';
import { PlainReply } from '../replies/plain-reply.js';
import { readIncludesCost } from '../replies/reply-cost.js';
import { StreamReply, type StreamTimes } from '../replies/stream-reply.js';

/** Serves generation requests over HTTP in any format: body → request → pipeline → reply. */
export class GenerationHandler {
  constructor(
    private readonly services: InferenceServices,
    private readonly bodies: BodyReader,
    private readonly parser: BodyParser,
    private readonly quotes: Quotes,
    private readonly settings: StreamTimes & { activityEvents: boolean },
  ) {}

  /** Throws errors that become an HTTP status. Throws nothing after the first write. */
  handle<Parsed extends ParsedRequest>(adapter: ProtocolAdapter<Parsed>, request: GatewayRequest, response: ServerResponse): Promise<void> {
    return this.track(request, this.run(adapter, request, response));
  }

  /** Serves a request for embeddings, as `handle` does for a reply in words. */
  embed(request: GatewayRequest, response: ServerResponse): Promise<void> {
    return this.track(request, this.runEmbedding(request, response));
  }

  private track(request: GatewayRequest, running: Promise<void>): Promise<void> {
    const work = running.finally(() => this.bodies.release(request));
    request.exchange.work = work.catch(() => undefined);
    return work;
  }

  private async run<Parsed extends ParsedRequest>(
    adapter: ProtocolAdapter<Parsed>,
    request: GatewayRequest,
    response: ServerResponse,
  ): Promise<void> {
    const { exchange } = request;
    const { parsed, run } = await this.read(adapter, request, response);
    const { model, stream } = parsed.request;
    const { id, requestId } = exchange;
    const context = { id, requestId, createdSeconds: nowSeconds(), nowSeconds, model };
    if (!stream) return run(new PlainReply(exchange, response, adapter, parsed.replyOptions, context));
    return this.stream(new StreamReply(exchange, response, adapter.renderStream(context, parsed.replyOptions), this.settings), run);
  }

  private async runEmbedding(request: GatewayRequest, response: ServerResponse): Promise<void> {
    const { parsed, run } = await this.read(EMBEDDINGS, request, response);
    const { encoding } = parsed.replyOptions;
    const { drainMs } = this.settings;
    const reserve = (bytes: number): (() => void) => this.bodies.reserveReply(request, bytes);
    const reply = new EmbeddingReply(request.exchange, response, { encoding, model: parsed.request.model, drainMs, reserve });
    try {
      await run(reply);
      await reply.write();
    } finally {
      reply.close();
    }
  }

  /** Reads and parses the body. `run` runs the request. */
  private async read<Parsed extends ParsedRequest>(format: BodyFormat<Parsed>, request: GatewayRequest, response: ServerResponse) {
    const { exchange } = request;
    const caller = requireCaller(exchange);
    const bytes = await this.bodies.read(request, response);
    const onSent = (): void => this.bodies.release(request);
    const { requestId, stopped, trace, span } = exchange;
    const { [QUOTE_HEADER]: sentQuote } = request.headers;
    const bodyDigest = sentQuote === undefined ? undefined : digestBody(bytes);
    const parsed = await this.parser.parseGeneration(format, { bytes, owner: caller, stopped, onSent });
    const record: InferenceRecord = { activity: this.settings.activityEvents ? {} : undefined };
    exchange.inference = record;
    exchange.includesCost = readIncludesCost(request.headers);
    const attribution = readAttribution(request.headers, parsed.attribution, caller);
    const sessionLimit = readSessionLimit(request.headers, attribution);
    const maxCost = readMaxCost(request.headers);
    const promised =
      bodyDigest === undefined
        ? undefined
        : await this.quotes.check(String(sentQuote), {
            accountId: caller.accountId,
            format: format.name,
            model: parsed.request.model,
            bodyDigest,
          });
    const call = { request: parsed.request, caller, requestId, attribution, sessionLimit, maxCost, promised, trace, span };
    return { parsed, run: (reply: Reply) => this.runCall(call, reply, record) };
  }

  /** Keeps whom a refused request was for: of others billing knows it. */
  private async runCall(call: InferenceCall, reply: Reply, record: InferenceRecord): Promise<void> {
    try {
      await runInference(this.services, call, reply, record);
    } catch (error) {
      if (record.outcome === undefined) record.attribution = call.attribution;
      throw error;
    }
  }

  /** Rethrows a failure before the stream has begun. Later failures become an event of the stream. */
  private async stream(reply: StreamReply, run: (reply: Reply) => Promise<void>): Promise<void> {
    try {
      await run(reply);
    } catch (error) {
      if (!(reply.hasBegun && error instanceof GatewayError)) throw error;
      reply.fail(error);
    } finally {
      reply.close();
    }
  }
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}
