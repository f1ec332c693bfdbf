import type { ServerResponse } from 'node:http';

/**
 * The body of a reply of unknown length, each write one HTTP chunk. Node would write a chunk as three buffers, its size, its text and its
 * end; as one string it costs a sixth less, and a stream writes one for every token. To be made after `writeHead`.
 */
export class ChunkedBody {
  /** Not for HTTP/1.0, where the end of the connection is the end of the body. */
  private readonly isChunked: boolean;

  constructor(private readonly response: ServerResponse) {
    this.isChunked = response.chunkedEncoding;
    response.chunkedEncoding = false; // from here on, Node passes on what it is given
  }

  /** False when the client is slow to take it: `drain` says when it has. `text` may not be empty, since that would be the end. */
  write(text: string): boolean {
    return this.response.write(this.isChunked ? chunk(text) : text);
  }

  end(text: string): void {
    if (!this.isChunked) this.response.end(text);
    else this.response.end(text === '' ? LAST_CHUNK : chunk(text) + LAST_CHUNK);
  }
}

const LAST_CHUNK = '0\r\n\r\n';

function chunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}
