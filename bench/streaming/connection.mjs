/**
 * A minimal HTTP client for chunked replies: one connection, one request at a time, one read buffer. A client library takes as much time
 * a token as a gateway does, on the same cores.
 */
import { connect } from 'node:net';

const HEAD_END = '\r\n\r\n';
const LINE_FEED = 10;
const READ_BYTES = 64 * 1024;

/** @typedef {(bytes: Buffer) => void} Take */

export class Connection {
  /** @type {import('node:net').Socket | undefined} */
  #socket;
  #buffer = Buffer.allocUnsafe(READ_BYTES);
  #origin;
  /** @type {Reading | undefined} */
  #reading;

  /** @param {string} origin */
  constructor(origin) {
    this.#origin = new URL(origin);
  }

  /**
   * Sends a POST and passes every piece of the body to `take`; the bytes are valid only until it returns. Resolves with undefined for a
   * complete reply with status 200, else with the fault.
   *
   * @param {string} path @param {Record<string, string>} headers @param {string} body @param {Take} take
   * @returns {Promise<string | undefined>}
   */
  post(path, headers, body, take) {
    return new Promise((resolve) => {
      this.#reading = new Reading(take, (fault) => {
        this.#reading = undefined;
        if (fault !== undefined) this.close();
        resolve(fault);
      });
      const fields = { host: this.#origin.host, ...headers, 'content-length': String(Buffer.byteLength(body)) };
      const head = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
      this.#open().write(`POST ${path} HTTP/1.1\r\n${head.join('')}\r\n${body}`);
    });
  }

  close() {
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  #open() {
    if (this.#socket !== undefined) return this.#socket;
    const onread = {
      buffer: this.#buffer,
      callback: (/** @type {number} */ length) => {
        this.#reading?.push(this.#buffer, length);
        return true;
      },
    };
    const socket = connect({ host: this.#origin.hostname, port: Number(this.#origin.port), noDelay: true, onread });
    socket.on('error', (error) => this.#reading?.end(error.message));
    socket.on('close', () => {
      if (this.#socket === socket) this.#socket = undefined;
      this.#reading?.end('the connection was closed');
    });
    this.#socket = socket;
    return socket;
  }
}

/** One reply. */
class Reading {
  #head = '';
  #isInBody = false;
  /** Remaining bytes of the current chunk and its line end; 0 inside a size line. */
  #left = 0;
  #size = '';
  #isLast = false;
  #take;
  #done;

  /** @param {Take} take @param {(fault: string | undefined) => void} done */
  constructor(take, done) {
    this.#take = take;
    this.#done = done;
  }

  /** @param {string | undefined} fault */
  end(fault) {
    this.#done(fault);
  }

  /** @param {Buffer} buffer @param {number} length */
  push(buffer, length) {
    let at = this.#isInBody ? 0 : this.#readHead(buffer, length);
    while (at < length) {
      if (this.#left > 0) {
        const end = Math.min(length, at + this.#left);
        const textEnd = Math.min(end, at + this.#left - 2);
        if (textEnd > at) this.#take(buffer.subarray(at, textEnd));
        this.#left -= end - at;
        at = end;
        if (this.#left === 0 && this.#isLast) return this.end(undefined);
        continue;
      }
      const feed = buffer.indexOf(LINE_FEED, at);
      const end = feed === -1 || feed >= length ? length : feed + 1;
      this.#size += buffer.latin1Slice(at, end);
      at = end;
      if (!this.#size.endsWith('\n')) return;
      const size = Number.parseInt(this.#size, 16);
      if (Number.isNaN(size)) return this.end('a chunk without its size');
      this.#size = '';
      this.#isLast = size === 0;
      this.#left = size + 2;
    }
  }

  /** Returns the offset of the body. @param {Buffer} buffer @param {number} length */
  #readHead(buffer, length) {
    const before = this.#head.length;
    this.#head += buffer.latin1Slice(0, length);
    const end = this.#head.indexOf(HEAD_END);
    if (end === -1) return length;
    const status = this.#head.slice(9, 12);
    if (status !== '200' || !/\r\ntransfer-encoding: chunked\r\n/i.test(this.#head.slice(0, end + 2))) {
      this.end(`status ${status}`);
      return length;
    }
    this.#isInBody = true;
    return end + HEAD_END.length - before;
  }
}
