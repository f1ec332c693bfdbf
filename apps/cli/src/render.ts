import type { PinnedPrice } from '#contracts/billing/holds.js';
import type { ModelLimit } from '#contracts/billing/model-limits.js';
import type { ModelPrices } from '#contracts/catalog.js';
import { describeOtherPrices } from '#money/describe-rules.js';
import { parsePicoUsd, picoUsd, renderUsd } from '#money/pico-usd.js';

type Cell = string | number | boolean | null;

/** Renders aligned columns with headings; numbers are right-aligned. An empty list is rendered as `nothing`. */
export function renderTable<Row>(rows: readonly Row[], nothing: string, columns: Record<string, (row: Row) => Cell>): string {
  if (rows.length === 0) return nothing;
  const headings = Object.keys(columns);
  const cells = rows.map((row) => Object.values(columns).map((read) => read(row)));
  const lines = [headings, ...cells.map((line) => line.map(renderCell))];
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)));
  const numeric = headings.map((_, column) => cells.every((line) => typeof line[column] === 'number'));
  return lines
    .map((line) =>
      line
        .map((cell, column) => pad(cell, widths[column] ?? 0, numeric[column] === true))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Renders limits by model as they are written: `gpt-*=tpm:100000,rpm:60; o3=rpm:5`. */
function renderModelLimits(limits: readonly ModelLimit[]): string {
  return limits
    .map(({ model, requestsPerMinuteMax: rpm, tokensPerMinuteMax: tpm }) => {
      const values = [...(tpm === undefined ? [] : [`tpm:${tpm}`]), ...(rpm === undefined ? [] : [`rpm:${rpm}`])];
      return `${model}=${values.join(',')}`;
    })
    .join('; ');
}

interface Limited {
  requestsPerMinuteMax: number | null;
  concurrencyMax: number | null;
  tokensPerMinuteMax: number | null;
  modelLimits?: readonly ModelLimit[];
}

/** Returns the limits that there are, as fields. */
export function limitFields({ requestsPerMinuteMax, concurrencyMax, tokensPerMinuteMax, modelLimits }: Limited): Record<string, string> {
  return {
    ...(requestsPerMinuteMax !== null && { 'requests per minute': String(requestsPerMinuteMax) }),
    ...(concurrencyMax !== null && { 'concurrent requests': String(concurrencyMax) }),
    ...(tokensPerMinuteMax !== null && { 'tokens per minute': String(tokensPerMinuteMax) }),
    ...(modelLimits && { 'by model': renderModelLimits(modelLimits) }),
  };
}

/** Renders the options of the next page, if there is one: its cursor, and the start of the query, which has to stay the same. */
export function morePages(nextCursor: string | null, { from }: { from?: string } = {}): string {
  return nextCursor === null ? '' : `\nmore: ${from === undefined ? '' : `--from ${from} `}--cursor ${nextCursor}`;
}

export function renderFields(fields: Record<string, Cell>): string {
  const width = Math.max(...Object.keys(fields).map((label) => label.length));
  return Object.entries(fields)
    .map(([label, value]) => `${label.padEnd(width)}  ${renderCell(value)}`)
    .join('\n');
}

/** Renders a time for a table: `2027-01-31 12:30Z`. */
export function renderTime(at: string | null): string | null {
  return at && `${at.slice(0, 10)} ${at.slice(11, 16)}Z`;
}

/** Renders `$12.50 (12500000000000 pico)`. */
export function renderMoney(amountPicoUsd: string): string {
  return `${renderDollars(amountPicoUsd)} (${amountPicoUsd} pico)`;
}

/** Renders `$12.50`, with as many decimals as needed to be exact. */
export function renderDollars(amountPicoUsd: string): string {
  const dollars = renderUsd(parsePicoUsd(amountPicoUsd));
  return dollars.startsWith('-') ? `-$${dollars.slice(1)}` : `$${dollars}`;
}

/** Renders a price a token as list price per million tokens: `$0.15`. */
export function renderPerMillion(picoUsdPerToken: string): string {
  return `$${renderUsd(picoUsd(BigInt(picoUsdPerToken) * 1_000_000n))}`;
}

/** Renders the prices that are pinned to a hold: those of tokens for a million each. */
export function renderPinnedPrice({ version, pricePlan, ...price }: PinnedPrice): string {
  const [prompt, cached, output] = [price.inputPicoUsd, price.cachedInputPicoUsd, price.outputPicoUsd].map(renderPerMillion);
  const prices = [`${prompt} prompt`, `${cached} cached prompt`, `${output} output`, ...renderOtherPrices(price)];
  return `${prices.join(', ')} (${pricePlan === undefined ? '' : `price plan ${pricePlan}, `}version ${version})`;
}

/** Renders the prices of input, cached input and output for a million tokens, and the others: `$0.15 / $0.015 / $0.60 / $0.01 a request`. */
export function renderPrices(price: ModelPrices): string {
  const ofTokens = [price.inputPicoUsd, price.cachedInputPicoUsd, price.outputPicoUsd].map(renderPerMillion);
  return [...ofTokens, ...renderOtherPrices(price)].join(' / ');
}

/** Renders the prices that only some models have, those of tokens for a million: `$3.75 cache write`, `$0.01 a request`. */
export function renderOtherPrices(price: Partial<ModelPrices>): string[] {
  return describeOtherPrices(price, { perMillion: (pico) => renderPerMillion(String(pico)), each: (pico) => renderDollars(String(pico)) });
}

function renderCell(cell: Cell): string {
  if (cell === null) return '-';
  if (typeof cell === 'boolean') return cell ? 'yes' : 'no';
  return withoutControls(String(cell));
}

/** Replaces control characters, so that a name cannot control the terminal. */
export function withoutControls(text: string): string {
  return text.replace(/\p{Cc}/gu, '\u{fffd}');
}

function pad(cell: string, width: number, right: boolean): string {
  return right ? cell.padStart(width) : cell.padEnd(width);
}
