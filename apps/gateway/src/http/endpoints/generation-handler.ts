import type { ServerResponse } from 'node:http';
import { GatewayError } from '#inference/errors.js';
import type { BodyParser } from '../../bodies/body-parser.js';
import type { BodyReader } from '../../bodies/read-body.js';
import { type InferenceServices, runInference } from '../../pipeline/run-inference.js';
import type { ParsedRequest, ProtocolAdapter } from '../../protocols/protocol-adapter.js';
import { callerOf, type GatewayRequest } from '../http-exchange.js';
import { PlainReply } from '../replies/plain-reply.js';
import { StreamReply, type StreamTimes } from '../replies/stream-reply.js';

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Serves generation requests over HTTP in any format: body → request → pipeline → reply. */
export class GenerationHandler {
  constructor(
    private readonly services: InferenceServices,
    private readonly bodies: BodyReader,
    private readonly parser: BodyParser,
    private readonly times: StreamTimes,
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
    const caller = callerOf(exchange);
    const bytes = await this.bodies.read(request, response);
    const onSent = (): void => this.bodies.release(request);
    const parsed = await this.parser.parseGeneration(adapter, { bytes, owner: caller, stopped: exchange.stopped, onSent });
    const context = {
      id: exchange.id,
      requestId: exchange.requestId,
      createdSeconds: nowSeconds(),
      nowSeconds,
      model: parsed.request.model,
    };
    const call = {
      request: parsed.request,
      caller,
      requestId: exchange.requestId,
      traceparent: traceparentOf(request),
    };
    exchange.inference = {};
    if (parsed.request.stream) {
      const reply = new StreamReply(exchange, response, adapter.renderStream(context, parsed.replyOptions), this.times);
      await this.stream(reply, () => runInference(this.services, call, reply, exchange.inference ?? {}));
    } else {
      await runInference(
        this.services,
        call,
        new PlainReply(exchange, response, adapter, parsed.replyOptions, context),
        exchange.inference,
      );
    }
  }

  /** Rethrows a failure before the stream has begun. Later failures become an event of the stream. */
  private async stream(reply: StreamReply, run: () => Promise<void>): Promise<void> {
    try {
      await run();
    } catch (error) {
      if (!(reply.hasBegun && error instanceof GatewayError)) throw error;
      reply.fail(error);
    } finally {
      reply.close();
    }
  }
}

function traceparentOf({ headers }: GatewayRequest): string | undefined {
  const { traceparent } = headers;
  return typeof traceparent === 'string' && TRACEPARENT.test(traceparent) ? traceparent : undefined;
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}
