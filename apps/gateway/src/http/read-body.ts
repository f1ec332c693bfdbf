import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '#inference/errors.js';
import { stopError } from '../pipeline/reply.js';
import type { GatewayRequest } from './exchange.js';

/** The client left before its request was complete: there is nobody to answer. */
export class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError';
}

export interface BodyLimits {
  bodyBytesMax: number;
  /** Of all requests together. */
  bodiesInFlightBytesMax: number;
}

/**
 * Reads JSON bodies, within limits enforced while reading. A body counts against all bodies in flight until `release`, since
 * what is made of it lives that long.
 */
export class BodyReader {
  private inFlightBytes = 0;

  constructor(private readonly limits: BodyLimits) {}

  /**
   * Throws `request_too_large`, an `invalid_request` with status 415, `model_unavailable` over the common limit, what the exchange is
   * stopped with, `ClientGoneError`.
   */
  async read(request: GatewayRequest, response: ServerResponse): Promise<Buffer> {
    const { headers, exchange } = request;
    if (exchange.stopped.aborted) throw whyStopped(exchange.stopped);
    const declared = headers['content-length'];
    if (Number(declared) > this.limits.bodyBytesMax) throw this.tooLarge();
    // A body without a declared size has to be read before it is known not to be too large, which is refused first.
    if (declared !== undefined) checkMediaType(headers);
    if (exchange.awaitsContinue) {
      exchange.awaitsContinue = false;
      response.writeContinue();
    }
    const body = await this.collect(request);
    if (declared === undefined) checkMediaType(headers);
    return body;
  }

  get bytesInFlight(): number {
    return this.inFlightBytes;
  }

  /** To be called once a request, whatever became of it. */
  release(request: GatewayRequest): void {
    this.inFlightBytes -= request.exchange.bodyBytes;
    request.exchange.bodyBytes = 0;
  }

  private collect(request: GatewayRequest): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      const { stopped } = request.exchange;
      const settle = (outcome: () => void): void => {
        request.off('data', onData).off('end', onEnd).off('close', onStop).off('error', onStop);
        stopped.removeEventListener('abort', onStop);
        outcome();
      };
      const onData = (chunk: Buffer): void => {
        request.exchange.bodyBytes += chunk.length;
        this.inFlightBytes += chunk.length;
        if (request.exchange.bodyBytes > this.limits.bodyBytesMax) settle(() => reject(this.tooLarge()));
        else if (this.inFlightBytes > this.limits.bodiesInFlightBytesMax) settle(() => reject(busy()));
        else chunks.push(chunk);
      };
      const onEnd = (): void => settle(() => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
      const onStop = (): void => settle(() => reject(whyStopped(stopped)));
      request.on('data', onData).once('end', onEnd).once('close', onStop).once('error', onStop);
      stopped.addEventListener('abort', onStop, { once: true });
    });
  }

  private tooLarge(): GatewayError {
    return new GatewayError('request_too_large', `The request body is larger than ${this.limits.bodyBytesMax} bytes.`);
  }
}

/** A request that closed before it was complete is one whose client has left. */
function whyStopped(stopped: AbortSignal): Error {
  return stopError(stopped) ?? new ClientGoneError('the client left while sending its request');
}

function busy(): GatewayError {
  return new GatewayError('model_unavailable', 'The gateway is receiving too much at once. Try again.', { retryAfterSeconds: 1 });
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
