import { ReceiptFault } from './receipt-fault.js';

const LINE_END = 0x0a;
/** A longer line is none of receipts: it is refused before it fills the memory. */
const LINE_BYTES_MAX = 1_000_000;

/** Splits bytes into lines, each without its line end. The last line must have one. @throws {ReceiptFault} */
export async function* readLines(chunks: AsyncIterable<Buffer> | Iterable<Buffer>): AsyncGenerator<Buffer[]> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
    const lines: Buffer[] = [];
    let from = 0;
    for (let end = bytes.indexOf(LINE_END); end !== -1; end = bytes.indexOf(LINE_END, from)) {
      lines.push(bytes.subarray(from, end));
      from = end + 1;
    }
    rest = bytes.subarray(from);
    if (rest.length > LINE_BYTES_MAX) throw new ReceiptFault('A line is too long.');
    if (lines.length > 0) yield lines;
  }
  if (rest.length > 0) throw new ReceiptFault('The last line has no end: the file was cut off.');
}
