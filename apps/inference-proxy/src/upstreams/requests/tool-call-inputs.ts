import { mayHoldLongNumbers, parseExactly } from '#inference/exact-json.js';
import type { ToolCallPart } from '#inference/turn.js';
import { isObject } from '../replies/json-object.js';
import { countValues, isDeeper, JSON_DEPTH_MAX } from '../replies/reply-limits.js';

/** Values in the arguments of one request that are parsed, in about 10 ms. No other request is served meanwhile. */
const VALUES_MAX = 50_000;

/** Values that are parsed with the exact digits of their numbers, which takes some fifty times as long. */
const EXACT_VALUES_MAX = 5_000;

/** Characters that are searched for long numbers. Arguments beyond them are parsed as if they held one. */
const SEARCHED_MAX = 1024 * 1024;

/** Renders the arguments of the earlier tool calls of one request, for dialects that take objects only. */
export class ToolCallInputs {
  private values = 0;
  private exactValues = 0;
  private searched = 0;

  /** Arguments that are no object, or too costly to parse, become the one property `input`. */
  render({ kind, argumentsText }: ToolCallPart): object {
    if (kind === 'function' && argumentsText.trim() === '') return {};
    return (kind === 'function' ? this.parse(argumentsText) : undefined) ?? { input: argumentsText };
  }

  private parse(text: string): object | undefined {
    const values = countValues(text, VALUES_MAX);
    this.values += values;
    if (this.values > VALUES_MAX) return undefined;
    try {
      const value = this.takeExactBudget(text, values) ? parseExactly(text) : JSON.parse(text);
      return isObject(value) && !isDeeper(value, JSON_DEPTH_MAX) ? value : undefined;
    } catch {
      return undefined;
    }
  }

  /** True when the text may hold long numbers and the budget allows keeping their digits; beyond it they are rounded. */
  private takeExactBudget(text: string, values: number): boolean {
    this.searched += text.length;
    if (this.searched <= SEARCHED_MAX && !mayHoldLongNumbers(text)) return false;
    this.exactValues += values;
    return this.exactValues <= EXACT_VALUES_MAX;
  }
}
