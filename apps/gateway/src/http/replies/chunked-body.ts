import type { ServerResponse } from 'node:http';

/**
 * Writes a reply body in HTTP chunks. Node writes a chunk as three buffers (size, data, end); one string costs a sixth less, and a stream
 * writes a chunk for every token. Create it after `writeHead`.
 */
export class ChunkedBody {
  /** False for HTTP/1.0, where the end of the connection ends the body. */
  private readonly isChunked: boolean;

  constructor(private readonly response: ServerResponse) {
    this.isChunked = response.chunkedEncoding;
    response.chunkedEncoding = false; // Node now writes data unchanged
  }

  /** Returns false when the caller should wait for `drain`. `text` must not be empty: an empty chunk ends the body. */
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
