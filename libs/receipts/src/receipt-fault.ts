/** Thrown for a file that does not prove what it says. The message names the line, if there is one. */
export class ReceiptFault extends Error {
  override readonly name = 'ReceiptFault';
}
