import { addressGroup } from '#network/address-group.js';
import { BodyRate } from '#network/body-rate.js';
import { BodyShares } from '#network/body-shares.js';
import { IncomingBody } from '#network/incoming-body.js';
import { ClientLeftError, PanelError } from '../errors/panel-error.js';
import type { PanelRequest } from '../requests/panel-request.js';
import type { Route } from './routes.js';

/** Bytes of one body, and of one that proves who its sender is: an e-mail, a password or the token of a link. */
export const BODY_BYTES_MAX = 1024 * 1024;
export const PROOF_BYTES_MAX = 16 * 1024;

/** Bytes of all bodies of signed-in callers that are read or handled. */
export const BODIES_BYTES_MAX = 32 * 1024 * 1024;
/** Bytes of all sign-ins, confirmations and other proofs: 2,000 of the largest, one for each connection by default. */
export const PROOFS_BYTES_MAX = 32 * 1024 * 1024;
/** Bytes of one person, or of one address without a session, in either. */
export const SHARE_BYTES_MAX = 4 * 1024 * 1024;
/** Larger bodies leave an eighth of the memory to smaller ones. */
const SMALL_BODY_BYTES_MAX = 64 * 1024;
const RESERVE_BYTES = 4 * 1024 * 1024;

/** Least rate of a body: as the gateway's by default. */
export const BODY_RATE = { bodyBytesPerSecondMin: 8 * 1024, bodyGraceMs: 5_000 };

type Body = Pick<Route, 'access' | 'isProof'>;

/**
 * Reads bodies within limits. A body counts with the bytes that have arrived, until its request is handled. Sign-ins and confirmations have
 * memory of their own, so that they are served whatever signed-in callers send.
 */
export class BodyReader {
  private readonly bodies = divideShares(BODIES_BYTES_MAX);
  private readonly proofs = divideShares(PROOFS_BYTES_MAX);
  private readonly rate: BodyRate;

  constructor(rate = BODY_RATE) {
    this.rate = new BodyRate(rate);
  }

  /**
   * Returns the text of a body, and the function that releases its memory.
   * @throws {PanelError} `request_too_large`, `rate_limit_exceeded` beyond the sender's share, `unavailable` beyond that of all, and
   * `invalid_request` with status 408 for a body that is too slow
   * @throws {ClientLeftError}
   */
  async read(request: PanelRequest, route: Body): Promise<{ text: string; release: () => void }> {
    const isProof = route.access === 'public' || route.isProof === true;
    const max = isProof ? PROOF_BYTES_MAX : BODY_BYTES_MAX;
    if (Number(request.headers['content-length'] ?? 0) > max) throw tooLarge(max);
    const shares = isProof ? this.proofs : this.bodies;
    const holder = request.caller?.userId ?? addressGroup(request.address);
    let taken = 0;
    const take = (bytes: number): void => {
      const total = taken + bytes;
      if (total > max) throw tooLarge(max);
      const outcome = shares.take(holder, bytes, total);
      if (outcome !== 'taken') throw outcome === 'over-share' ? overShare() : overAll();
      taken = total;
    };
    const release = (): void => {
      shares.release(holder, taken);
      taken = 0;
    };
    try {
      return { text: (await this.collect(request, take)).toString(), release };
    } catch (error) {
      release();
      throw error;
    }
  }

  private collect(request: PanelRequest, take: (bytes: number) => void): Promise<Buffer> {
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    if (request.destroyed && !request.complete) reject(new ClientLeftError());
    const body = new IncomingBody(undefined);
    const onData = (chunk: Buffer): void => {
      try {
        take(chunk.length);
        body.push(chunk);
      } catch (error) {
        reject(error);
      }
    };
    const onEnd = (): void => resolve(body.take());
    const onLeft = (): void => reject(new ClientLeftError());
    const unwatch = this.rate.watch(body, () => reject(tooSlow()));
    request.on('data', onData).once('end', onEnd).once('close', onLeft).once('error', onLeft);
    return promise.finally(() => {
      unwatch();
      request.off('data', onData).off('end', onEnd).off('close', onLeft).pause();
    });
  }
}

function divideShares(bytesMax: number): BodyShares {
  return new BodyShares({
    bytesMax,
    holderBytesMax: SHARE_BYTES_MAX,
    smallBodyBytesMax: SMALL_BODY_BYTES_MAX,
    reserveBytes: RESERVE_BYTES,
  });
}

function tooLarge(max: number): PanelError {
  return new PanelError('request_too_large', `The body is larger than ${max} bytes.`);
}

function tooSlow(): PanelError {
  const message = `The body came too slowly: at least ${BODY_RATE.bodyBytesPerSecondMin} bytes per second are expected.`;
  return new PanelError('invalid_request', message, { status: 408 });
}

function overShare(): PanelError {
  const message = `Your running requests hold too much: their bodies may have ${SHARE_BYTES_MAX} bytes together. Try again in a moment.`;
  return new PanelError('rate_limit_exceeded', message, { retryAfterSeconds: 1 });
}

function overAll(): PanelError {
  return new PanelError('unavailable', 'The panel reads as many requests as it can. Try again in a moment.', { retryAfterSeconds: 1 });
}
