import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { setImmediate as nextTick } from 'node:timers/promises';
import { findAbove, requireAbove } from '#config/find-above.js';
import { MOVEMENT_NAMES } from '#contracts/rules/movement-names.js';
import { parsePicoUsd, renderUsd } from '#money/pico-usd.js';
import type { Statement, StatementLine } from '../shapes/billing.js';
import { PLACEHOLDER, toPrintable } from './printable-text.js';

type Document = InstanceType<typeof import('pdfkit')>;

/** A font of many scripts, of which a file embeds the characters that it shows. */
const FONTS = 'node_modules/dejavu-fonts-ttf/ttf';
/** The same files in the npm package of the server. */
const PACKAGED_FONTS = 'fonts';
const [PLAIN, BOLD] = ['plain', 'bold'];
const [TITLE_SIZE, SIZE, SMALL_SIZE] = [16, 8, 6.5];
/** Points of an A4 page. */
const MARGIN = 48;
const PAGE = { width: 595.28, height: 841.89 };
const [LEFT, RIGHT] = [MARGIN, PAGE.width - MARGIN];
const DAY_WIDTH = 62;
const GAP = 10;
const INK = '#1d2422';
const FAINT = '#66706d';
const LINE = '#d5dcd9';

/**
 * Renders the statement of a closed month as a PDF: its sum, and each line with the balance after it, exact as in the CSV file. The same statement
 * gives the same bytes. The library is loaded at the first call.
 */
export async function renderStatementPdf(statement: Statement, accountName: string): Promise<Uint8Array> {
  const [{ default: PDFDocument }, plain, bold] = await Promise.all([
    import('pdfkit'),
    readFont('DejaVuSans'),
    readFont('DejaVuSans-Bold'),
  ]);
  const document = new PDFDocument({
    size: 'A4',
    margin: MARGIN,
    font: '',
    bufferPages: true,
    autoFirstPage: false,
    lang: 'en',
    displayTitle: true,
    info: {
      Title: `Statement ${statement.month}: ${accountName}`,
      Producer: 'Tollgate',
      Creator: 'Tollgate',
      CreationDate: new Date(statement.to),
    },
  });
  const chunks: Uint8Array[] = [];
  document.on('data', (chunk: Uint8Array) => chunks.push(chunk));
  document.registerFont(PLAIN, plain).registerFont(BOLD, bold);
  await new StatementPages(document, statement, accountName).write();
  const ended = once(document, 'end');
  document.end();
  await ended;
  return Buffer.concat(chunks);
}

function readFont(name: string): Promise<Buffer> {
  return readFile(findAbove(`${PACKAGED_FONTS}/${name}.ttf`) ?? requireAbove(`${FONTS}/${name}.ttf`));
}

/** Writes the pages of a statement, from top to bottom. */
class StatementPages {
  /** Distance of the next line from the top of the page. */
  private y = 0;
  private isReplaced = false;
  private readonly amounts: { decimals: number; width: number };

  constructor(
    private readonly document: Document,
    private readonly statement: Statement,
    private readonly accountName: string,
  ) {
    const texts = statement.lines.flatMap(({ amountPicoUsd, balancePicoUsd }) => [usd(amountPicoUsd), usd(balancePicoUsd)]);
    const decimals = texts.reduce((most, text) => Math.max(most, countDecimals(text)), 2);
    document.font(PLAIN).fontSize(SIZE);
    const width = texts.reduce((most, text) => Math.max(most, document.widthOfString(pad(text, decimals))), 60);
    this.amounts = { decimals, width };
  }

  async write(): Promise<void> {
    this.addPage();
    this.writeHead();
    this.writeSum();
    this.writeHeadings();
    for (const line of this.statement.lines) {
      if (this.writeLine(line)) await nextTick(); // so that a long statement holds up no one
    }
    if (this.isReplaced) this.writeNote();
    this.writePageNumbers();
  }

  private addPage(): void {
    this.document.addPage();
    this.y = MARGIN;
  }

  private writeHead(): void {
    const { month, accountId, from, to, receipts } = this.statement;
    this.writeText(this.show(this.accountName, BOLD), { size: TITLE_SIZE, font: BOLD });
    this.writeText(`Statement of account, ${month}`, { size: 11, font: BOLD });
    this.writeText(`From ${from.slice(0, 10)} to before ${to.slice(0, 10)}, days in UTC. All amounts are exact, in US dollars.`, {
      color: FAINT,
    });
    this.writeText(`Account ${accountId}`, { color: FAINT });
    if (receipts) this.writeText(`Root of the receipts ${receipts.root}`, { color: FAINT });
    this.y += 12;
  }

  private writeSum(): void {
    const { openingPicoUsd, inPicoUsd, outPicoUsd, costPicoUsd, forfeitedPicoUsd, closingPicoUsd } = this.statement;
    const rows: [name: string, note: string, amount: string][] = [
      ['Opening', 'balance at the start', usd(openingPicoUsd)],
      ['In', 'top-ups, grants, credits, credit notes', usd(inPicoUsd)],
      ['Out', 'refunds, debits', usd(minus(outPicoUsd))],
      ['Cost', 'of requests', usd(minus(costPicoUsd))],
      ['Forfeited', 'of plans that ended', usd(minus(forfeitedPicoUsd))],
      ['Closing', 'balance at the end', usd(closingPicoUsd)],
    ];
    const decimals = Math.max(...rows.map(([, , amount]) => countDecimals(amount)), 2);
    for (const [name, note, amount] of rows) {
      const font = name === 'Closing' ? BOLD : PLAIN;
      this.cell(name, LEFT, DAY_WIDTH, { font });
      this.cell(note, LEFT + DAY_WIDTH, 220, { color: FAINT });
      this.cell(pad(amount, decimals), LEFT + DAY_WIDTH, RIGHT - LEFT - DAY_WIDTH, { font, align: 'right' });
      this.endRow(12);
    }
    this.y += 16;
  }

  private writeHeadings(): void {
    for (const [text, x, width, align] of this.columns(['Day', 'Movement', 'Amount', 'Balance'])) {
      this.cell(text, x, width, { font: BOLD, align });
    }
    this.endRow(12);
  }

  /** Writes a line, on a new page when it does not fit on this one. Returns true for a new page. */
  private writeLine({ at, kind, reference, reason, requests, amountPicoUsd, balancePicoUsd }: StatementLine): boolean {
    const about =
      requests === null
        ? [reference, reason].filter((text) => text !== null).join(', ')
        : `${requests} request${requests === 1 ? '' : 's'}`;
    const more = this.show(about, PLAIN);
    const { decimals } = this.amounts;
    const texts = [at.slice(0, 10), MOVEMENT_NAMES[kind], pad(usd(amountPicoUsd), decimals), pad(usd(balancePicoUsd), decimals)];
    const cells = this.columns(texts);
    const width = cells[1]?.[2] ?? 0;
    this.document.font(PLAIN).fontSize(SMALL_SIZE);
    const height = 11 + (more === '' ? 0 : this.document.heightOfString(more, { width }));
    const isFull = this.y + height > PAGE.height - MARGIN - 20;
    if (isFull) {
      this.addPage();
      this.writeHeadings();
    }
    for (const [text, x, cellWidth, align] of cells) this.cell(text, x, cellWidth, { align });
    if (more !== '') {
      this.document.font(PLAIN).fontSize(SMALL_SIZE).fillColor(FAINT);
      this.document.text(more, LEFT + DAY_WIDTH, this.y + 11, { width });
    }
    this.endRow(height + 2);
    return isFull;
  }

  private writeNote(): void {
    if (this.y > PAGE.height - MARGIN - 60) this.addPage();
    this.y += 10;
    const text = `${PLACEHOLDER} stands for a character that this file does not show. The CSV file of the month has it.`;
    this.writeText(text, { color: FAINT });
  }

  private writePageNumbers(): void {
    const { count } = this.document.bufferedPageRange();
    for (let page = 0; page < count; page++) {
      this.document.switchToPage(page);
      this.y = PAGE.height - MARGIN + 4;
      this.document.page.margins.bottom = 0; // or the number would begin a page
      this.cell(`${this.statement.month}, page ${page + 1} of ${count}`, LEFT, RIGHT - LEFT, { color: FAINT, align: 'right' });
    }
  }

  /** Places of the cells of a line: day, movement, amount and balance. */
  private columns(texts: readonly string[]): [text: string, x: number, width: number, align: 'left' | 'right'][] {
    const { width } = this.amounts;
    const [day = '', movement = '', amount = '', balance = ''] = texts;
    return [
      [day, LEFT, DAY_WIDTH, 'left'],
      [movement, LEFT + DAY_WIDTH, Math.max(RIGHT - LEFT - DAY_WIDTH - 2 * (width + GAP), 100), 'left'],
      [amount, RIGHT - 2 * width - GAP, width, 'right'],
      [balance, RIGHT - width, width, 'right'],
    ];
  }

  /** Writes a text over the whole width, in as many lines as it needs. */
  private writeText(text: string, { size = SIZE, font = PLAIN, color = INK } = {}): void {
    this.document
      .font(font)
      .fontSize(size)
      .fillColor(color)
      .text(text, LEFT, this.y, { width: RIGHT - LEFT });
    this.y = this.document.y + 2;
  }

  private cell(text: string, x: number, width: number, { font = PLAIN, color = INK, align = 'left' as 'left' | 'right' } = {}): void {
    this.document.font(font).fontSize(SIZE).fillColor(color);
    // Its own place, since without line breaks the library aligns nothing.
    const start = align === 'right' ? x + width - this.document.widthOfString(text) : x;
    this.document.text(text, start, this.y, { lineBreak: false });
  }

  private endRow(height: number): void {
    this.y += height;
    this.document
      .moveTo(LEFT, this.y - 1)
      .lineTo(RIGHT, this.y - 1)
      .lineWidth(0.4)
      .strokeColor(LINE)
      .stroke();
    this.y += 2;
  }

  private show(text: string, name: string): string {
    // The types of the library do not have the font that is set.
    const { font } = (this.document.font(name) as unknown as { _font: { font: { hasGlyphForCodePoint(point: number): boolean } } })._font;
    const shown = toPrintable(text, (point) => font.hasGlyphForCodePoint(point));
    if (shown.includes(PLACEHOLDER)) this.isReplaced = true;
    return shown;
  }
}

function usd(picoUsd: string): string {
  return renderUsd(parsePicoUsd(picoUsd));
}

function minus(picoUsd: string): string {
  return String(-BigInt(picoUsd));
}

function countDecimals(text: string): number {
  return text.split('.')[1]?.length ?? 0;
}

/** Appends zeros, so that the points of a column stand below one another. */
function pad(text: string, decimals: number): string {
  const [whole = '', fraction = ''] = text.split('.');
  return `${whole}.${fraction.padEnd(decimals, '0')}`;
}
