import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '#inference/errors.js';
import type { GatewayRequest } from '../http/http-exchange.js';
import { stopError } from '../pipeline/reply.js';
import { BodyBudget, type BodyBudgetLimits } from './body-budget.js';
import { IncomingBody } from './incoming-body.js';

/** The client left before its request was complete: there is nobody to answer. */
export class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError';
}

export interface BodyLimits extends BodyBudgetLimits {
  bodyBytesPerSecondMin: number;
  bodyGraceMs: number;
}

/** Interval between two looks at the rates. Time is counted in ticks: after a pause of the process, clients must not be cut off for it. */
const TICK_MS = 500;

/** A body that is being received. */
interface Reading {
  body: IncomingBody;
  ticks: number;
  cutOff(error: Error): void;
}

/**
 * Reads JSON bodies, within limits enforced while reading. A body counts against all bodies in flight until `release`, since
 * what is made of it lives that long.
 */
export class BodyReader {
  private readonly budget: BodyBudget;
  private readonly readings = new Set<Reading>();
  /** Runs while bodies are being read. */
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly limits: BodyLimits) {
    this.budget = new BodyBudget(limits);
  }

  /**
   * Throws `request_too_large`, an `invalid_request` with status 415 or, when the body comes too slowly, 408, `concurrency_limit` over the
   * account's share of the bodies in flight, `model_unavailable` over the common limit, what the exchange is stopped with, `ClientGoneError`.
   */
  async read(request: GatewayRequest, response: ServerResponse): Promise<Buffer> {
    const { headers, exchange } = request;
    if (exchange.stopped.aborted) throw whyStopped(exchange.stopped);
    const declared = headers['content-length'];
    if (Number(declared) > this.limits.bodyBytesMax) throw this.tooLarge();
    // A body without a declared size has to be read before it is known not to be too large, which is refused first.
    if (declared !== undefined) {
      checkMediaType(headers);
      this.take(request, Number(declared));
    }
    if (exchange.awaitsContinue) {
      exchange.awaitsContinue = false;
      response.writeContinue();
    }
    const body = await this.collect(request, declared === undefined ? undefined : Number(declared));
    if (declared === undefined) checkMediaType(headers);
    return body;
  }

  get bytesInFlight(): number {
    return this.budget.bytesInUse;
  }

  /** Frees the bytes of a request's body. Called at the end of every request; safe to call twice. */
  release({ exchange }: GatewayRequest): void {
    this.budget.release(accountOf(exchange), exchange.bodyBytes);
    exchange.bodyBytes = 0;
  }

  private take({ exchange }: GatewayRequest, bytes: number): void {
    this.budget.take(accountOf(exchange), bytes, exchange.bodyBytes + bytes);
    exchange.bodyBytes += bytes;
  }

  private collect(request: GatewayRequest, declaredBytes: number | undefined): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const body = new IncomingBody(declaredBytes);
      const { stopped } = request.exchange;
      const settle = (outcome: () => void): void => {
        request.off('data', onData).off('end', onEnd).off('close', onStop).off('error', onStop);
        stopped.removeEventListener('abort', onStop);
        this.readings.delete(reading);
        outcome();
      };
      const fail = (error: Error): void => settle(() => reject(error));
      const cutOff = (error: Error): void => {
        request.exchange.isUnreadable = true; // the rest is not waited for
        fail(error);
      };
      const reading = { body, ticks: 0, cutOff };
      const onData = (chunk: Buffer): void => {
        try {
          if (body.length + chunk.length > this.limits.bodyBytesMax) throw this.tooLarge();
          if (declaredBytes === undefined) this.take(request, chunk.length);
          body.push(chunk);
        } catch (error) {
          fail(error as Error);
        }
      };
      const onEnd = (): void => settle(() => resolve(body.take()));
      const onStop = (): void => fail(whyStopped(stopped));
      request.on('data', onData).once('end', onEnd).once('close', onStop).once('error', onStop);
      stopped.addEventListener('abort', onStop, { once: true });
      this.watch(reading);
    });
  }

  private watch(reading: Reading): void {
    this.readings.add(reading);
    this.timer ??= setInterval(() => this.tick(), TICK_MS).unref();
  }

  private tick(): void {
    if (this.readings.size === 0) {
      clearInterval(this.timer);
      this.timer = undefined;
    }
    for (const reading of this.readings) {
      reading.ticks++;
      if (this.isTooSlow(reading)) reading.cutOff(this.tooSlow());
    }
  }

  /** True when a body is below the least rate on average, the grace not counted. */
  private isTooSlow({ body, ticks }: Reading): boolean {
    const { bodyGraceMs, bodyBytesPerSecondMin } = this.limits;
    return body.length < ((ticks * TICK_MS - bodyGraceMs) / 1000) * bodyBytesPerSecondMin;
  }

  private tooLarge(): GatewayError {
    return new GatewayError('request_too_large', `The request body is larger than ${this.limits.bodyBytesMax} bytes.`);
  }

  private tooSlow(): GatewayError {
    const message = `The request body came too slowly: at least ${this.limits.bodyBytesPerSecondMin} bytes per second are expected.`;
    return new GatewayError('invalid_request', message, { status: 408 });
  }
}

/** Returns the error that a stopped request fails with. When no error was given, its client has left. */
export function whyStopped(stopped: AbortSignal): Error {
  return stopError(stopped) ?? new ClientGoneError('the client left while sending its request');
}

function accountOf({ caller }: GatewayRequest['exchange']): string {
  return caller?.accountId ?? '';
}

/** JSON in UTF-8, as it is. A missing content type is taken for JSON; compression would make the size limit meaningless (H-10). */
function checkMediaType(headers: IncomingMessage['headers']): void {
  const encoding = headers['content-encoding']?.trim().toLowerCase();
  if (encoding && encoding !== 'identity') {
    throw new GatewayError('invalid_request', 'Compressed request bodies are not supported: send the JSON as it is.', { status: 415 });
  }
  const contentType = headers['content-type'];
  if (contentType === undefined || contentType === 'application/json') return;
  const [type = '', ...parameters] = contentType.toLowerCase().split(';');
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('charset='));
  const isJson = /^(?:application\/(?:[\w.+-]+\+)?|text\/)json$/.test(type.trim());
  if (!isJson)
    throw new GatewayError('invalid_request', 'The request body must be JSON: send "Content-Type: application/json".', { status: 415 });
  if (charset && !/^charset="?utf-?8"?$/.test(charset)) {
    throw new GatewayError('invalid_request', 'The request body must be JSON in UTF-8.', { status: 415 });
  }
}
