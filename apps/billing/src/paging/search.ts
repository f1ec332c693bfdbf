import { containsText } from '#database/contains-text.js';
import { isId } from './page-cursor.js';

type Searched<Column extends string> = { OR?: ({ id: string } | { [name in Column]?: ReturnType<typeof containsText> })[] };

/** Returns the condition of rows whose id is a text, or of which one of these columns has it. None without a text. */
export function searchIn<Column extends string>(search: string | undefined, columns: readonly Column[]): Searched<Column> {
  const text = search?.trim();
  if (!text) return {};
  const named = columns.map((column) => ({ [column]: containsText(text) }) as { [name in Column]?: ReturnType<typeof containsText> });
  const id = text.toLowerCase();
  return { OR: [...named, ...(isId(id) ? [{ id }] : [])] };
}
