import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '#inference/errors.js';
import { BodyRate } from '#network/body-rate.js';
import { IncomingBody } from '#network/incoming-body.js';
import { stopError } from '../../pipeline/reply.js';
import type { GatewayRequest } from '../http-exchange.js';
import { BodyBudget, type BodyBudgetLimits } from './body-budget.js';

/** Thrown when the client disconnects before its request is complete, so that no reply is sent. */
export class ClientDisconnectedError extends Error {
  override readonly name = 'ClientDisconnectedError';
}

interface BodyLimits extends BodyBudgetLimits {
  bodyBytesPerSecondMin: number;
  bodyGraceMs: number;
}

/** Reads JSON bodies within limits. A body counts as in flight until `release`, because its parsed form lives that long. */
export class BodyReader {
  private readonly budget: BodyBudget;
  private readonly rate: BodyRate;

  constructor(private readonly limits: BodyLimits) {
    this.budget = new BodyBudget(limits);
    this.rate = new BodyRate(limits);
  }

  /**
   * Reads the body of a request. Throws `request_too_large`; `invalid_request` with status 415 for another media type and 408 for a slow
   * client; `concurrency_limit` and `model_unavailable` as `BodyBudget.take` does; and `stoppedError`.
   */
  async read(request: GatewayRequest, response: ServerResponse): Promise<Buffer> {
    const { headers, exchange } = request;
    if (exchange.stopped.aborted) throw stoppedError(exchange.stopped);
    const declared = headers['content-length'];
    if (Number(declared) > this.limits.bodyBytesMax) throw this.tooLarge();
    // Size is refused before media type. A body without a declared size must be read first.
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
    this.budget.release(payingAccount(exchange), exchange.bodyBytes);
    exchange.bodyBytes = 0;
  }

  /**
   * Counts the memory of a reply among that of the bodies, until the returned function is called. Throws `invalid_request` for one that an
   * account can never have, else as `read` does.
   */
  reserveReply({ exchange }: GatewayRequest, bytes: number): () => void {
    const account = payingAccount(exchange);
    if (bytes > this.budget.accountBytesMax) {
      const message = `The vectors of the reply would take ${bytes} bytes, more than ${this.budget.accountBytesMax}. Send fewer inputs.`;
      throw new GatewayError('invalid_request', message, { param: 'input' });
    }
    this.budget.take(account, bytes, bytes);
    return () => this.budget.release(account, bytes);
  }

  private take({ exchange }: GatewayRequest, bytes: number): void {
    this.budget.take(payingAccount(exchange), bytes, exchange.bodyBytes + bytes);
    exchange.bodyBytes += bytes;
  }

  private collect(request: GatewayRequest, declaredBytes: number | undefined): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const body = new IncomingBody(declaredBytes);
      const { stopped } = request.exchange;
      const cleanUp = (): void => {
        request.off('data', onData).off('end', onEnd).off('close', onStop).off('error', onStop);
        stopped.removeEventListener('abort', onStop);
        unwatch();
      };
      const fail = (error: Error): void => {
        cleanUp();
        reject(error);
      };
      const unwatch = this.rate.watch(body, () => {
        request.exchange.isUnreadable = true; // do not wait for the rest
        fail(this.tooSlow());
      });
      const onData = (chunk: Buffer): void => {
        try {
          if (body.length + chunk.length > this.limits.bodyBytesMax) throw this.tooLarge();
          if (declaredBytes === undefined) this.take(request, chunk.length);
          body.push(chunk);
        } catch (error) {
          fail(error as Error);
        }
      };
      const onEnd = (): void => {
        cleanUp();
        resolve(body.take());
      };
      const onStop = (): void => fail(stoppedError(stopped));
      request.on('data', onData).once('end', onEnd).once('close', onStop).once('error', onStop);
      stopped.addEventListener('abort', onStop, { once: true });
    });
  }

  private tooLarge(): GatewayError {
    return new GatewayError('request_too_large', `The request body is larger than ${this.limits.bodyBytesMax} bytes.`);
  }

  private tooSlow(): GatewayError {
    const message = `The request body came too slowly: at least ${this.limits.bodyBytesPerSecondMin} bytes per second are expected.`;
    return new GatewayError('invalid_request', message, { status: 408 });
  }
}

/** Returns the error of a stopped request: the given error, or `ClientDisconnectedError` when there is none. */
export function stoppedError(stopped: AbortSignal): Error {
  return stopError(stopped) ?? new ClientDisconnectedError('the client disconnected while sending its request');
}

function payingAccount({ caller }: GatewayRequest['exchange']): string {
  return caller?.accountId ?? '';
}

/** Requires JSON in UTF-8; a missing content type is accepted. Compression is refused, because it would defeat the size limit. */
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
