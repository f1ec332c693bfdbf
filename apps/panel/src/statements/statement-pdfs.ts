import { PanelError } from '../errors/panel-error.js';
import type { Statement } from '../shapes/billing.js';
import { renderStatementPdf } from './render-pdf.js';

/** Lines of the longest statement that becomes a PDF: some 60 pages, 2 seconds and 60 MB. */
const LINES_MAX = 2_000;

/** Renders statements as PDF, one at a time in a replica. */
export class StatementPdfs {
  private last: Promise<unknown> = Promise.resolve();

  /** @throws {PanelError} `invalid_request` for a month that runs, and for one with more lines than `LINES_MAX`. */
  async render(statement: Statement, accountName: string): Promise<Uint8Array> {
    if (!statement.isClosed) refuse('The month still runs. Its PDF is there when it has ended; the CSV file is there now.');
    if (statement.lines.length > LINES_MAX)
      refuse(`The statement has ${statement.lines.length} lines, and a PDF has at most ${LINES_MAX}. Take the CSV file.`);
    const rendered = this.last.then(() => renderStatementPdf(statement, accountName));
    this.last = rendered.catch(() => undefined);
    return rendered;
  }
}

function refuse(message: string): never {
  throw new PanelError('invalid_request', message, { param: 'month' });
}
