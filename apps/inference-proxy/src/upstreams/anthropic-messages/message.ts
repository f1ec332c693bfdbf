/** A block of content, or a tool. */
export type Block = Record<string, unknown>;

export interface Message {
  role: 'user' | 'assistant';
  content: Block[];
}
