import type { ServerResponse } from 'node:http';
import { GatewayError } from '#inference/errors.js';
import type { Reply } from '../../pipeline/reply.js';
import { type InferenceRecord, type InferenceServices, runInference } from '../../pipeline/run-inference.js';
import type { ParsedRequest, ProtocolAdapter } from '../../protocols/protocol-adapter.js';
import { readAttribution } from '../attribution.js';
import type { BodyParser } from '../bodies/body-parser.js';
import type { BodyReader } from '../bodies/read-body.js';
import { type GatewayRequest, requireCaller } from '../http-exchange.js';
import { PlainReply } from '../replies/plain-reply.js';
import { StreamReply, type StreamTimes } from '../replies/stream-reply.js';

/** Serves generation requests over HTTP in any format: body → request → pipeline → reply. */
export class GenerationHandler {
  constructor(
    private readonly services: InferenceServices,
    private readonly bodies: BodyReader,
    private readonly parser: BodyParser,
    private readonly settings: StreamTimes & { activityEvents: boolean },
  ) {}

  /** Throws errors that become an HTTP status. Throws nothing after the first write. */
  handle<Parsed extends ParsedRequest>(adapter: ProtocolAdapter<Parsed>, request: GatewayRequest, response: ServerResponse): Promise<void> {
    const work = this.run(adapter, request, response).finally(() => this.bodies.release(request));
    request.exchange.work = work.catch(() => undefined);
    return work;
  }

  private async run<Parsed extends ParsedRequest>(
    adapter: ProtocolAdapter<Parsed>,
    request: GatewayRequest,
    response: ServerResponse,
  ): Promise<void> {
    const { exchange } = request;
    const caller = requireCaller(exchange);
    const bytes = await this.bodies.read(request, response);
    const onSent = (): void => this.bodies.release(request);
    const { id, requestId, stopped, trace, span } = exchange;
    const parsed = await this.parser.parseGeneration(adapter, { bytes, owner: caller, stopped, onSent });
    const { model, stream } = parsed.request;
    const context = { id, requestId, createdSeconds: nowSeconds(), nowSeconds, model };
    const record: InferenceRecord = { activity: this.settings.activityEvents ? {} : undefined };
    exchange.inference = record;
    const attribution = readAttribution(request.headers, parsed.attribution, caller);
    const call = { request: parsed.request, caller, requestId, attribution, trace, span };
    const run = (reply: Reply) => runInference(this.services, call, reply, record);
    if (!stream) return run(new PlainReply(exchange, response, adapter, parsed.replyOptions, context));
    return this.stream(new StreamReply(exchange, response, adapter.renderStream(context, parsed.replyOptions), this.settings), run);
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
